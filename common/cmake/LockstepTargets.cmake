# lockstep_module(), lockstep_chapter(), lockstep_program(), lockstep_test(): the only ways a target is made here.
# Their DEPENDS lists are the project's dependency list; tests/workshop/course/ rejects any #include that they do not cover.

include("${CMAKE_CURRENT_LIST_DIR}/LockstepPrebuilt.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/LockstepPrecompile.cmake")

# Sources that change seldom are compiled several at a time: what they include is read, and what they all instantiate is
# generated, once for a batch. Not what a learner edits (chapters), and nothing in the preset dev, where each source
# compiles alone, so that a change costs one source and a missing #include is found.
# A batch is a source of ours, and not of CMake's unity builds, because those name their sources by absolute paths: with
# paths from the project's root, ccache knows a batch of another clone without preprocessing it.
function(lockstep_compile_in_batches target sources_in_batch)
  if(NOT LOCKSTEP_UNITY)
    return()
  endif()
  # Later, because sources may still get options of their own, with which they compile alone.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL lockstep_write_batches [[${target}]] ${sources_in_batch})")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A type of one source that holds another of its anonymous namespace: in a batch g++ takes the source for a header.
    target_compile_options(${target} PRIVATE "$<${LOCKSTEP_IS_CXX}:-Wno-subobject-linkage>")
  endif()
endfunction()

# Each source has its batch, also where a release for students lacks others (an object stands in their place): names in
# anonymous namespaces may be the same in two batches, and must not meet in one.
function(lockstep_write_batches target sources_in_batch)
  get_target_property(sources ${target} SOURCES)
  set(compiled ${sources})
  list(FILTER compiled INCLUDE REGEX "\\.cpp(\\.o)?$")
  set(place 0)
  foreach(source IN LISTS compiled)
    math(EXPR batch "${place} / ${sources_in_batch}")
    math(EXPR place "${place} + 1")
    lockstep_compiles_alone(is_alone "${source}")
    if(NOT is_alone)
      get_filename_component(path "${source}" ABSOLUTE)
      file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
      string(APPEND batch_${batch} "#include \"${path}\"\n")
      list(REMOVE_ITEM sources "${source}")
    endif()
  endforeach()
  foreach(number RANGE ${place})
    if(batch_${number})
      set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_batch_${number}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${batch_${number}}" @ONLY)
      list(APPEND sources "${file}")
    endif()
  endforeach()
  get_target_property(before ${target} SOURCES)
  set_target_properties(${target} PROPERTIES LOCKSTEP_SOURCES "${before}")  # for LockstepGraph.cmake
  set_property(TARGET ${target} PROPERTY SOURCES ${sources})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# An object, or a source with options of its own (COMPILE_ALONE: it wants none, and no batch).
function(lockstep_compiles_alone result source)
  set(is_alone OFF)
  if(source MATCHES "\\.o$")
    set(is_alone ON)
  endif()
  foreach(property COMPILE_ALONE COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(value "${source}" ${property})
    if(value)
      set(is_alone ON)
    endif()
  endforeach()
  set(${result} ${is_alone} PARENT_SCOPE)
endfunction()

function(lockstep_reject_unknown caller)
  if(ARGN)
    message(FATAL_ERROR "${caller}: unknown arguments: ${ARGN}")
  endif()
endfunction()

# Shared by modules and chapters: one static library, its public headers as a verified file set.
function(lockstep_add_library target alias base_dir)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS")
  if(arg_SOURCES)
    lockstep_or_prebuilt(sources ${target} ${arg_SOURCES})
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)  # with objects alone, CMake knows none
    set(visibility PUBLIC)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_DEPENDS})
  else()
    add_library(${target} INTERFACE)
    set(visibility INTERFACE)
  endif()
  add_library(${alias} ALIAS ${target})
  target_sources(${target} ${visibility} FILE_SET HEADERS BASE_DIRS "${base_dir}" FILES ${arg_HEADERS})
  target_link_libraries(${target} ${visibility} lockstep::options ${arg_DEPENDS})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM arg_HEADERS PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PUBLIC_HEADERS ${arg_HEADERS})  # what docs/ shows
endfunction()

# The wings of common/, in order: a module uses its own wing and those before it (LockstepGraph.cmake looks). What lies in
# none of them (common/base) comes before all.
set(LOCKSTEP_WINGS /gpu /ranks /train /workshop)
list(TRANSFORM LOCKSTEP_WINGS PREPEND "${PROJECT_SOURCE_DIR}/common" OUTPUT_VARIABLE LOCKSTEP_COMMON_FOLDERS)
list(PREPEND LOCKSTEP_COMMON_FOLDERS "${PROJECT_SOURCE_DIR}/common")

# "/ranks" for a folder in common/ranks, "" for common/base.
function(lockstep_wing_of result folder)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/common" "${folder}")
  string(REGEX REPLACE "^([a-z]+)(/.*)?$" "/\\1" wing "${path}")
  if(NOT wing IN_LIST LOCKSTEP_WINGS)
    set(wing "")
  endif()
  set(${result} "${wing}" PARENT_SCOPE)
endfunction()

# For targets in a wing that are no modules.
function(lockstep_include_own_wing target)
  lockstep_wing_of(wing "${CMAKE_CURRENT_SOURCE_DIR}")
  if(wing)
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/common${wing}")
  endif()
endfunction()

# lockstep_module(net HEADERS a.hpp SOURCES a.cpp DEPENDS lockstep::base PRIVATE_DEPENDS OpenSSL::Crypto)
# Makes lockstep::net from common/ranks/net; included as "net/a.hpp", for headers are included from their wing.
# OWN_OPTIONS: the module adds options that change code, and so goes without the precompiled header.
function(lockstep_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_OPTIONS" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS")
  lockstep_reject_unknown("lockstep_module(${name})" ${arg_UNPARSED_ARGUMENTS})
  lockstep_wing_of(wing "${CMAKE_CURRENT_SOURCE_DIR}")
  lockstep_add_library(lockstep_${name} lockstep::${name} "${PROJECT_SOURCE_DIR}/common${wing}"
    HEADERS ${arg_HEADERS} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} PRIVATE_DEPENDS ${arg_PRIVATE_DEPENDS})
  if(arg_SOURCES AND NOT arg_OWN_OPTIONS)
    lockstep_use_precompiled(lockstep_${name} ordinary)
    lockstep_compile_in_batches(lockstep_${name} 8)
  endif()
endfunction()

# lockstep_chapter(ring_all_reduce HEADERS ... SOURCES ... DEPENDS ... PROGRAMS ring_steps ring_all_reduce)
# Makes lockstep::ring_all_reduce from chapters/NN_ring_all_reduce (included as "02_ring_all_reduce/x.hpp") and one
# program per name from programs/<name>.cpp. PROGRAM_DEPENDS are linked into the programs only.
function(lockstep_chapter name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS;PROGRAMS;PROGRAM_DEPENDS")
  lockstep_reject_unknown("lockstep_chapter(${name})" ${arg_UNPARSED_ARGUMENTS})
  set(own)
  if(arg_HEADERS OR arg_SOURCES)
    lockstep_add_library(lockstep_${name} lockstep::${name} "${PROJECT_SOURCE_DIR}/chapters"
      HEADERS ${arg_HEADERS} SOURCES ${arg_SOURCES} DEPENDS ${arg_DEPENDS} PRIVATE_DEPENDS ${arg_PRIVATE_DEPENDS})
    if(arg_SOURCES)
      lockstep_use_precompiled(lockstep_${name} ordinary)
    endif()
    set(own lockstep::${name})
  endif()
  foreach(program IN LISTS arg_PROGRAMS)
    lockstep_program(${program} SOURCES programs/${program}.cpp DEPENDS ${own} ${arg_PROGRAM_DEPENDS})
  endforeach()
endfunction()

# Everything a user runs, without the tests.
add_custom_target(programs)

# A program of this folder: part of `programs`, and of `programs_NN` in chapter NN, but not if it belongs to the tests.
function(lockstep_add_to_programs name)
  string(FIND "${CMAKE_CURRENT_SOURCE_DIR}/" "${PROJECT_SOURCE_DIR}/tests/" place)
  if(place GREATER_EQUAL 0)
    return()
  endif()
  add_dependencies(programs ${name})
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/chapters/([0-9][0-9])_[^/]*$")
    set(of_chapter programs_${CMAKE_MATCH_1})
    if(NOT TARGET ${of_chapter})
      add_custom_target(${of_chapter})
    endif()
    add_dependencies(${of_chapter} ${name})
  endif()
endfunction()

# lockstep_program(server SOURCES programs/server.cpp DEPENDS lockstep::net)
# OWN_OPTIONS here and for tests: as for modules.
function(lockstep_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_OPTIONS" "" "SOURCES;DEPENDS")
  lockstep_reject_unknown("lockstep_program(${name})" ${arg_UNPARSED_ARGUMENTS})
  lockstep_or_prebuilt(sources ${name} ${arg_SOURCES})
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE lockstep::options ${arg_DEPENDS})
  lockstep_include_own_wing(${name})
  if(NOT arg_OWN_OPTIONS)
    lockstep_use_precompiled(${name} ordinary)
  endif()
  lockstep_add_to_programs(${name})
endfunction()

# lockstep_test(net_test SOURCES socket_test.cpp DEPENDS lockstep::net LABELS net TIMEOUT 60)
# Each Catch2 test case becomes one CTest test with a timeout (seconds, 60 unless told).
# ALONE lists sources that are in no batch: they have helpers of the same names as others.
function(lockstep_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;OWN_OPTIONS" "TIMEOUT" "SOURCES;ALONE;DEPENDS;LABELS")
  lockstep_reject_unknown("lockstep_test(${name})" ${arg_UNPARSED_ARGUMENTS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_ALONE})
  target_link_libraries(${name} PRIVATE lockstep::options lockstep::test_support ${arg_DEPENDS})
  if(arg_OWN_OPTIONS)
    target_compile_options(${name} PRIVATE ${LOCKSTEP_TEST_OPTIONS})
  else()
    lockstep_compile_as_test(${name})
  endif()
  lockstep_compile_in_batches(${name} 6)
  set_source_files_properties(${arg_ALONE} PROPERTIES COMPILE_ALONE ON)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  # The settings of whoever runs the tests (`lockstep config`) must not change them.
  set(properties TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT XDG_CONFIG_HOME=/nonexistent)
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  if("gpu" IN_LIST arg_LABELS)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_GPU_TESTS ${name})  # what tests/gpu_session carries to a machine with a GPU
  endif()
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  set(own_skip "")
  if(Catch2_VERSION VERSION_GREATER_EQUAL 3)
    set(own_skip SKIP_IS_FAILURE)  # else Catch2 would replace our exit status of a skipped test by its own, 4
  endif()
  catch_discover_tests(${name} ${own_skip} TEST_PREFIX "${name}: " PROPERTIES ${properties})
endfunction()
