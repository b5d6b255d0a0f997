#include <string>

#include "needs_string.hpp"

std::string greeting() { return "compiles, because <string> stands before the header"; }
