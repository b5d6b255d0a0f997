#pragma once
/// @file
/// Given: the loop of exercise 11.3, which is the one that trains in chapter 11. Its function is to be written.
#include "11_pipeline_parallel/stage_loop.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"                    // IWYU pragma: export
