// Code that is wider than its box can be scrolled by the keyboard.
for (const code of document.querySelectorAll(".highlight pre")) {
  if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
}
