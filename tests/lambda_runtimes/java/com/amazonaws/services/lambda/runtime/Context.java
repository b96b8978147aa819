package com.amazonaws.services.lambda.runtime;

/** Stands for what aws-lambda-java-core gives a handler beside its event. */
public interface Context {}
