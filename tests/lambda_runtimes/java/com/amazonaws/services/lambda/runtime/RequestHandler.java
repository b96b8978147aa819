package com.amazonaws.services.lambda.runtime;

/** Stands for the interface of aws-lambda-java-core. */
public interface RequestHandler<I, O> {
    O handleRequest(I event, Context context);
}
