#pragma once
/// @file
/// Given: the schedule of exercise 11.1, with which chapter 11 trains. You write its function.
#include "11_pipeline_parallel/schedules/schedule.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"                            // IWYU pragma: export
