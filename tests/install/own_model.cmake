# cmake -DBUILD=folder -DEXAMPLE=folder -DSCRATCH=folder -DCOMPILER=c++ -P own_model.cmake
# Installs the build, and follows docs/own_model/README.md: one process, DDP, sharded ranks and the accelerator have the
# same losses; tensor-parallel ranks have those of one of them.
cmake_policy(VERSION 3.25)

function(run result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status
                  WORKING_DIRECTORY "${SCRATCH}")
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# The five losses of an output, in millionths.
function(read_losses result output)
  string(REGEX MATCHALL "loss [0-9]+\\.[0-9][0-9][0-9][0-9][0-9][0-9]" losses "${output}")
  list(LENGTH losses count)
  if(NOT count EQUAL 5)
    message(FATAL_ERROR "not the losses of five epochs:\n${output}")
  endif()
  list(TRANSFORM losses REPLACE "loss |\\." "")
  list(TRANSFORM losses REPLACE "^0+" "")
  set(${result} "${losses}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")
run(ignored "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${SCRATCH}/prefix")
file(COPY "${EXAMPLE}/" DESTINATION "${SCRATCH}/own_model")
run(configured "${CMAKE_COMMAND}" -G Ninja -S own_model -B build "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_CXX_FLAGS=-Wall)
if(configured MATCHES "No [A-Za-z]+ backend")  # the installed libraries have been built: nothing can be added to them
  message(FATAL_ERROR "the example's configuration speaks of backends:\n${configured}")
endif()
run(built "${CMAKE_COMMAND}" --build build)
if(built MATCHES "warning")
  message(FATAL_ERROR "the example compiles with warnings:\n${built}")
endif()

# The targets that the README names, and the headers of the last chapter, which needs all before it.
file(READ "${EXAMPLE}/README.md" readme)
string(REGEX MATCHALL "`lockstep::[a-z_]+`" targets "${readme}")
list(TRANSFORM targets REPLACE "`" "")
list(REMOVE_DUPLICATES targets)
if(NOT "lockstep::three_dimensions" IN_LIST targets)
  message(FATAL_ERROR "not the targets of ${EXAMPLE}/README.md: ${targets}")
endif()
list(JOIN targets " " targets)
file(WRITE "${SCRATCH}/targets/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(targets LANGUAGES CXX)
find_package(Lockstep 0.1 REQUIRED)
add_executable(targets main.cpp)
target_link_libraries(targets PRIVATE ${targets})
")
file(WRITE "${SCRATCH}/targets/main.cpp" "#include \"12_three_dimensions/gpt/grid_step.hpp\"
int main() { return lockstep::grid::RankGrid({.pipeline = 1, .data = 1, .tensor = 1}, 0, 1).rank(); }
")
run(ignored "${CMAKE_COMMAND}" -G Ninja -S targets -B targets/build "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix"
    "-DCMAKE_CXX_COMPILER=${COMPILER}")
run(ignored "${CMAKE_COMMAND}" --build targets/build)
run(ignored targets/build/targets)

# A component is a target of the package; a misspelled one is an error that names it.
function(configure_with_components result status_result)
  list(JOIN ARGN " " names)
  file(WRITE "${SCRATCH}/components/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(components LANGUAGES CXX)
find_package(Lockstep 0.1 REQUIRED COMPONENTS ${names})
")
  execute_process(COMMAND "${CMAKE_COMMAND}" -G Ninja -S components -B components/build
                          "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}"
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status WORKING_DIRECTORY "${SCRATCH}")
  string(REGEX REPLACE "[ \n]+" " " output "${output}")  # CMake breaks lines
  set(${result} "${output}" PARENT_SCOPE)
  set(${status_result} "${status}" PARENT_SCOPE)
endfunction()
configure_with_components(output status gpt_ddp nccl OPTIONAL_COMPONENTS no_such_target)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "components that are there:\n${output}")
endif()
configure_with_components(output status gpt_ddp dpp)
if(status EQUAL 0 OR NOT output MATCHES "Lockstep has no component 'dpp'\\. A component is a target .* gpt_ddp,")
  message(FATAL_ERROR "a component that is not there:\n${output}")
endif()

run(output build/train_alone)
read_losses(alone "${output}")
list(GET alone 0 first)
list(GET alone 4 last)
if(NOT last LESS first)
  message(FATAL_ERROR "nothing is learned:\n${output}")
endif()

function(compare_losses program output expected_losses)
  read_losses(losses "${output}")
  foreach(loss expected IN ZIP_LISTS losses expected_losses)
    math(EXPR difference "${loss} - ${expected}")
    if(difference GREATER 5 OR difference LESS -5)  # sums in another order: a few units of the sixth digit
      message(FATAL_ERROR "${program} has other losses than one process:\n${output}\n${expected_losses}")
    endif()
  endforeach()
endfunction()

function(check_same_losses program expected_losses)
  run(output prefix/bin/lockstep launch --nproc 2 -- build/${program})
  compare_losses("${program} on two ranks" "${output}" "${expected_losses}")
endfunction()

foreach(program IN ITEMS train_ddp train_sharded train_accelerate)
  check_same_losses(${program} "${alone}")
endforeach()

# A run that is continued prints what the unbroken one prints, also on another number of ranks.
run(whole prefix/bin/lockstep launch --nproc 2 -- build/train_resume whole 5)
compare_losses("train_resume" "${whole}" "${alone}")
run(begin prefix/bin/lockstep launch --nproc 2 -- build/train_resume parts 2)
file(COPY "${SCRATCH}/parts/" DESTINATION "${SCRATCH}/other")
run(same prefix/bin/lockstep launch --nproc 2 -- build/train_resume parts 5)
if(NOT "${begin}${same}" STREQUAL "${whole}")
  message(FATAL_ERROR "resumed on two ranks:\n${begin}${same}\nunbroken:\n${whole}")
endif()
run(other prefix/bin/lockstep launch --nproc 4 -- build/train_resume other 5)
compare_losses("train_resume on four ranks" "${begin}${other}" "${alone}")

run(output prefix/bin/lockstep launch --nproc 1 -- build/train_tensor_parallel)
read_losses(one "${output}")
check_same_losses(train_tensor_parallel "${one}")
file(REMOVE_RECURSE "${SCRATCH}")
