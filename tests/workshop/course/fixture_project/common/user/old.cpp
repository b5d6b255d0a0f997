// Not compiled.
