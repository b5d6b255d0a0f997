#pragma once
/// @file
/// Given: the loop of exercise 11.3, with which chapter 11 trains. You write its function.
#include "11_pipeline_parallel/stage_loop.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"                    // IWYU pragma: export
