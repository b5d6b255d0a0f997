# The one list of libraries from outside. `lockstep` (the script) installs their Debian packages.

find_package(Threads REQUIRED)
# 3.4 or newer, and the version after 3.4 is 5.0: a request of 3.4 would refuse it.
find_package(Eigen3 REQUIRED NO_MODULE)
if(Eigen3_VERSION VERSION_LESS 3.4)
  message(FATAL_ERROR "Eigen ${Eigen3_VERSION} in ${Eigen3_DIR} is too old: install 3.4 or newer")
endif()
find_package(nlohmann_json 3.9 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
# For `submit` and `grade` alone; without both they are not built. libseccomp ships no CMake package on Debian. Its static
# library: what is started for each rank in a sandbox looks for as few files as possible.
find_package(LibArchive QUIET)
find_path(LOCKSTEP_SECCOMP_INCLUDE_DIR seccomp.h)
find_library(LOCKSTEP_SECCOMP_LIBRARY NAMES libseccomp.a seccomp)
if(LOCKSTEP_SECCOMP_INCLUDE_DIR AND LOCKSTEP_SECCOMP_LIBRARY)
  add_library(lockstep_seccomp INTERFACE IMPORTED)
  add_library(lockstep::seccomp ALIAS lockstep_seccomp)
  target_include_directories(lockstep_seccomp INTERFACE "${LOCKSTEP_SECCOMP_INCLUDE_DIR}")
  target_link_libraries(lockstep_seccomp INTERFACE "${LOCKSTEP_SECCOMP_LIBRARY}")
endif()

# xxHash ships no CMake package on Debian.
find_path(LOCKSTEP_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(LOCKSTEP_XXHASH_LIBRARY xxhash REQUIRED)
add_library(lockstep_xxhash INTERFACE IMPORTED)
add_library(lockstep::xxhash ALIAS lockstep_xxhash)
target_include_directories(lockstep_xxhash INTERFACE "${LOCKSTEP_XXHASH_INCLUDE_DIR}")
target_link_libraries(lockstep_xxhash INTERFACE "${LOCKSTEP_XXHASH_LIBRARY}")

# SentencePiece ships no CMake package on Debian.
find_path(LOCKSTEP_SENTENCEPIECE_INCLUDE_DIR sentencepiece_trainer.h REQUIRED)
find_library(LOCKSTEP_SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
find_library(LOCKSTEP_SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train REQUIRED)
add_library(lockstep_sentencepiece INTERFACE IMPORTED)
add_library(lockstep::sentencepiece ALIAS lockstep_sentencepiece)
target_include_directories(lockstep_sentencepiece INTERFACE "${LOCKSTEP_SENTENCEPIECE_INCLUDE_DIR}")
target_link_libraries(lockstep_sentencepiece INTERFACE
  "${LOCKSTEP_SENTENCEPIECE_TRAIN_LIBRARY}" "${LOCKSTEP_SENTENCEPIECE_LIBRARY}")
# Newer ones than Debian 13's have Abseil's types in their interface.
file(STRINGS "${LOCKSTEP_SENTENCEPIECE_INCLUDE_DIR}/sentencepiece_trainer.h" LOCKSTEP_SENTENCEPIECE_ABSEIL
  REGEX "include <absl/" LIMIT_COUNT 1)
if(LOCKSTEP_SENTENCEPIECE_ABSEIL)
  find_package(absl REQUIRED)
  target_link_libraries(lockstep_sentencepiece INTERFACE absl::status absl::strings)
endif()

if(LOCKSTEP_USE_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
endif()
if(LOCKSTEP_USE_ONEDNN)
  # Debian's dnnl-config.cmake demands OpenCL's development files, which the CPU engine does not need.
  find_path(LOCKSTEP_ONEDNN_INCLUDE_DIR dnnl.hpp)
  find_library(LOCKSTEP_ONEDNN_LIBRARY dnnl)
  if(LOCKSTEP_ONEDNN_INCLUDE_DIR AND LOCKSTEP_ONEDNN_LIBRARY)
    add_library(lockstep_onednn INTERFACE IMPORTED)
    add_library(lockstep::onednn ALIAS lockstep_onednn)
    target_include_directories(lockstep_onednn INTERFACE "${LOCKSTEP_ONEDNN_INCLUDE_DIR}")
    target_link_libraries(lockstep_onednn INTERFACE "${LOCKSTEP_ONEDNN_LIBRARY}")
  endif()
endif()
if(LOCKSTEP_BUILD_TESTS)
  find_package(Catch2 REQUIRED)  # 2.13 on Debian 12, 3.7 on Debian 13: tests/support/catch.hpp hides the difference
endif()
