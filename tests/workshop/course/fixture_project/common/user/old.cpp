// Compiled by nobody.
