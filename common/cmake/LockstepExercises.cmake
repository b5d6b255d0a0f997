# lockstep_exercises(): the programs of every exercise, from exercises/<chapter>/<K>_<name>/exercise.json.
#
# Of exercise 02.1: exercise_02_1_solution, exercise_02_1_template, exercise_02_1_bank and exercise_02_1_alternatives are
# the same subject.cpp with the solution's files, the template's, the bank of mistakes and the unusual right answers;
# judge_02 tries them. A learner's program is compiled and
# linked by `lockstep check` with the commands of exercise_02_1_template. Releases for students have the template's sources
# alone, and the bank and the judge as programs (LockstepPrebuilt.cmake).
#
# Files that end in .cu are kernels. nvcc compiles them in the preset cuda. Elsewhere they are translated, and compiled
# with the hooks of the emulator's checker; builds with sanitizers have no checker, and leave these exercises out.

# One program of an exercise, from sources in one folder.
function(lockstep_exercise_program target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FILES;DEPENDS")
  list(TRANSFORM arg_FILES PREPEND "${folder}/")
  if(NOT "${arg_FILES}" MATCHES "\\.cu(;|$)")
    add_executable(${target} ${arg_FILES})
    lockstep_use_precompiled(${target} exercise)
    target_compile_options(${target} PRIVATE -g1)  # for the lines of crashes and hangs
    # Who reads behind the end of a vector or a span is stopped there, whatever the memory holds.
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  elseif(LOCKSTEP_CUDA)
    add_executable(${target} ${arg_FILES})
  else()
    lockstep_translated_sources(sources translated/${target} ${arg_FILES})
    add_executable(${target} ${sources})
    # As lockstep_emulated_objects() compiles the checked copies of kernels, whose precompiled header it shares. A template
    # does not use yet what is given.
    target_compile_options(${target} PRIVATE -fPIC -Wno-unknown-pragmas -Wno-unused-function -Wno-unused-variable
      ${LOCKSTEP_CHECKED_LIBRARY_OPTIONS})
    lockstep_use_precompiled(${target} cuda_checked)
  endif()
  target_compile_options(${target} PRIVATE "$<${LOCKSTEP_IS_CXX}:-Wno-unused-parameter>")  # not used yet in a template
  target_link_libraries(${target} PRIVATE lockstep::options ${arg_DEPENDS})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/exercises")
endfunction()

function(lockstep_json_array result text)
  set(values)
  string(JSON count ERROR_VARIABLE missing LENGTH "${text}" ${ARGN})
  if(NOT missing AND count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON value GET "${text}" ${ARGN} ${i})
      list(APPEND values "${value}")
    endforeach()
  endif()
  set(${result} "${values}" PARENT_SCOPE)
endfunction()

# The programs of one exercise; appends to the lists of its chapter's judge.
function(lockstep_exercise folder)
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}/exercises" "${folder}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/exercise.json")
  file(READ "${folder}/exercise.json" text)
  string(JSON id GET "${text}" id)
  lockstep_json_array(files "${text}" files)
  lockstep_json_array(depends "${text}" depends)
  string(JSON needs ERROR_VARIABLE missing GET "${text}" needs)
  if(LOCKSTEP_CUDA AND needs STREQUAL "emulator")
    lockstep_leave_out("its ranks share no GPU: it is judged on the emulator" "${folder}"
      "${PROJECT_SOURCE_DIR}/solutions/${path}")
    return()
  endif()
  set(bank mistakes.cpp)
  set(subject_depends)
  if("${files}" MATCHES "\\.cu(;|$)")
    if(LOCKSTEP_SANITIZE)
      return()
    endif()
    set(bank mistakes.cu)
    set(subject_depends lockstep::exercise_kernels)
  endif()
  string(REPLACE "." "_" number "${id}")
  string(SUBSTRING "${id}" 0 2 chapter)
  set(tests "${PROJECT_SOURCE_DIR}/tests/exercises/${path}")
  file(GLOB alternatives RELATIVE "${tests}" CONFIGURE_DEPENDS "${tests}/alternatives.cpp" "${tests}/alternatives.cu")
  set(is_released OFF)
  if(NOT EXISTS "${tests}/judge.cpp" AND EXISTS "${LOCKSTEP_PREBUILT}")
    set(is_released ON)
  endif()
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_JUDGES_${chapter} "${tests}/judge.cpp")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_JUDGED_${chapter} ${number})
  lockstep_json_array(judge_depends "${text}" judge_depends)
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_JUDGES_DEPEND_${chapter} ${judge_depends})
  # The given header: what the learner's files, and those of ours in their place, include.
  file(GLOB given CONFIGURE_DEPENDS "${folder}/*.hpp")
  add_library(lockstep_exercise_${number} INTERFACE)
  add_library(lockstep::exercise_${number} ALIAS lockstep_exercise_${number})
  target_sources(lockstep_exercise_${number} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/exercises" FILES ${given})
  target_link_libraries(lockstep_exercise_${number} INTERFACE lockstep::options lockstep::exercise_subject ${depends})
  set_target_properties(lockstep_exercise_${number} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  add_library(exercise_${number}_subject STATIC "${tests}/subject.cpp" $<TARGET_OBJECTS:lockstep_exercise_subject_main>)
  target_link_libraries(exercise_${number}_subject PUBLIC lockstep::exercise_${number} PRIVATE ${subject_depends})
  lockstep_use_precompiled(exercise_${number}_subject ordinary)
  set(variants solution template bank)
  set(parts exercise_${number}_template exercise_${number}_bank judge_${chapter})
  set(folders "${PROJECT_SOURCE_DIR}/solutions/${path}" "${folder}" "${tests}")
  if(alternatives)
    list(APPEND variants alternatives)
    list(APPEND folders "${tests}")
  endif()
  if(is_released)
    set(variants template)
    set(folders "${folder}")
    set(parts exercise_${number}_template copied_exercise_${number}_bank copied_judge_${chapter})
    lockstep_prebuilt_program(exercise_${number}_bank)
  endif()
  foreach(variant folder_of IN ZIP_LISTS variants folders)
    set(sources ${files})
    if(variant STREQUAL "bank")
      set(sources ${bank})
    elseif(variant STREQUAL "alternatives")
      set(sources ${alternatives})
    endif()
    lockstep_exercise_program(exercise_${number}_${variant} "${folder_of}" FILES ${sources}
      DEPENDS exercise_${number}_subject lockstep::exercise_${number})
  endforeach()
  add_custom_target(exercise_${number})
  add_dependencies(exercise_${number} ${parts} lockstep_exercises)
  list(TRANSFORM variants PREPEND exercise_${number}_ OUTPUT_VARIABLE programs)
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_EXERCISE_PROGRAMS ${programs})
endfunction()

# judge_02: all judges of chapter 02, with the table that judges.hpp declares.
function(lockstep_judge chapter)
  get_property(sources GLOBAL PROPERTY LOCKSTEP_JUDGES_${chapter})
  if(EXISTS "${LOCKSTEP_PREBUILT}/exercises/judge_${chapter}")
    lockstep_prebuilt_program(judge_${chapter})
    return()
  endif()
  get_property(numbers GLOBAL PROPERTY LOCKSTEP_JUDGED_${chapter})
  get_property(depends GLOBAL PROPERTY LOCKSTEP_JUDGES_DEPEND_${chapter})
  set(declarations "")
  set(entries "")
  foreach(number IN LISTS numbers)
    string(REPLACE "_" "." id "${number}")
    string(APPEND declarations "void judge_${number}(Examination& exam);\n")
    string(APPEND entries "    {\"${id}\", judge_${number}},\n")
  endforeach()
  set(table "${CMAKE_CURRENT_BINARY_DIR}/judges_${chapter}.cpp")
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT "#include \"exercise/judges.hpp\"
namespace lockstep::exercise {
${declarations}
std::map<std::string, Judge> judges() {
  return {
${entries}  };
}
}  // namespace lockstep::exercise
")
  add_executable(judge_${chapter} ${sources} "${table}" $<TARGET_OBJECTS:lockstep_exercise_judge_main>)
  target_link_libraries(judge_${chapter} PRIVATE lockstep::options lockstep::exercise_judge ${depends})
  lockstep_use_precompiled(judge_${chapter} ordinary)
  lockstep_compile_in_batches(judge_${chapter} 5)  # so each judge's checks are in a namespace of their own
  set_target_properties(judge_${chapter} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/exercises")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_EXERCISE_PROGRAMS judge_${chapter})
endfunction()

function(lockstep_exercises)
  # main() of every subject and of every judge, compiled once.
  foreach(kind IN ITEMS subject judge)
    add_library(lockstep_exercise_${kind}_main OBJECT "${PROJECT_SOURCE_DIR}/common/workshop/exercise/${kind}_main.cpp")
    target_link_libraries(lockstep_exercise_${kind}_main PRIVATE lockstep::options lockstep::exercise_${kind})
    lockstep_use_precompiled(lockstep_exercise_${kind}_main ordinary)
  endforeach()
  file(GLOB folders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/exercises/*/*/exercise.json")
  list(TRANSFORM folders REPLACE "/exercise.json$" "")
  set(chapters)
  foreach(folder IN LISTS folders)
    lockstep_exercise("${folder}")
    string(REGEX REPLACE ".*/([0-9][0-9])_[^/]*/[^/]*$" "\\1" chapter "${folder}")
    list(APPEND chapters ${chapter})
  endforeach()
  list(REMOVE_DUPLICATES chapters)
  foreach(chapter IN LISTS chapters)
    get_property(is_judged GLOBAL PROPERTY LOCKSTEP_JUDGED_${chapter} SET)
    if(is_judged)
      lockstep_judge(${chapter})
    endif()
  endforeach()
endfunction()
