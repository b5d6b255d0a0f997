#pragma once
/// @file
/// Given: the class of exercise 06.5, with which chapter 06 trains. You write its two functions.
#include "06_gpt_ddp/ladder/reducer.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"              // IWYU pragma: export
