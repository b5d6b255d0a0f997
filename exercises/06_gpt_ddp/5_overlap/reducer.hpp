#pragma once
/// @file
/// Given: the class of exercise 06.5, which is the one that trains in chapter 06. Its two functions are to be written.
#include "06_gpt_ddp/ladder/reducer.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"              // IWYU pragma: export
