# The one CUDA backend of a build: NVIDIA's with LOCKSTEP_CUDA (preset cuda), else the emulator. Both are reached through
# lockstep::cuda_runtime, so no other file knows which it is.

option(LOCKSTEP_CUDA "Compile .cu files with nvcc and compute on NVIDIA GPUs (preset cuda); OFF: the emulator" OFF)

add_library(lockstep_cuda_runtime INTERFACE)
add_library(lockstep::cuda_runtime ALIAS lockstep_cuda_runtime)

if(LOCKSTEP_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)  # where it is installed, but seldom in PATH
  endif()
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "LOCKSTEP_CUDA needs nvcc: install the CUDA toolkit, or use the preset cpu")
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # before enable_language, or two runtimes get linked
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "80-real;90-real;90-virtual")  # Ampere, Hopper, and PTX for what comes later
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows CUDA17 at most
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)  # CUDA::cuda_driver is never linked: a program would die at load without a driver
  target_link_libraries(lockstep_cuda_runtime INTERFACE CUDA::cudart)
  target_compile_definitions(lockstep_cuda_runtime INTERFACE LOCKSTEP_HAVE_CUDA)
else()
  target_link_libraries(lockstep_cuda_runtime INTERFACE lockstep_emulator)
endif()
