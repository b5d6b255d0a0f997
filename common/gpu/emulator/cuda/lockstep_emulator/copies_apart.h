#pragma once
/// @file
/// Keeps the instrumented and the plain copy of a program apart, for templates that access a kernel's memory.

#ifdef LOCKSTEP_KERNEL_NAMESPACE
#define LOCKSTEP_EMULATOR_COPY inline namespace LOCKSTEP_KERNEL_NAMESPACE  ///< Of a kernel library.
#else
#define LOCKSTEP_EMULATOR_COPY inline namespace program  ///< A program has one copy.
#endif
