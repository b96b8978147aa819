"""Operations that the official command line and admin UI ask for by paths of their own."""
