#include "user/user.hpp"
