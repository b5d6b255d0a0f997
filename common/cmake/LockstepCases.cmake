# lockstep_cases(06_gpt_ddp DEPENDS lockstep::gpt_ddp ...): the programs of a chapter's cases for detectives, case_06_a and
# so on. Their sources are made here, from the right program and exercises/06_gpt_ddp/cases/spoilers/06.A.patch.
#
# "main" in cases.json names the source of a program, for a case of one of the library's sources: the program is made of
# both, and the linker leaves the library's own object out, for which the source compiles alone.
#
# They are no part of the target `programs`: `./lockstep case 06.A` builds the one that it runs.
function(lockstep_cases chapter)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DEPENDS")
  lockstep_reject_unknown("lockstep_cases(${chapter})" ${arg_UNPARSED_ARGUMENTS})
  set(folder "${PROJECT_SOURCE_DIR}/exercises/${chapter}/cases")
  if(NOT EXISTS "${folder}/cases.json")
    return()  # a release for students without them
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/cases.json")
  file(READ "${folder}/cases.json" text)
  string(JSON count LENGTH "${text}" cases)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON id GET "${text}" cases ${i} id)
    string(JSON right GET "${text}" cases ${i} file)
    string(JSON main ERROR_VARIABLE has_none GET "${text}" cases ${i} main)
    set(sources)
    if(NOT has_none)
      set(sources "${PROJECT_SOURCE_DIR}/${main}")
      set_source_files_properties("${PROJECT_SOURCE_DIR}/${right}" PROPERTIES COMPILE_ALONE ON)
    endif()
    string(TOLOWER "case_${id}" name)
    string(REPLACE "." "_" name "${name}")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/cases/${name}.cpp")
    add_custom_command(OUTPUT "${source}"
      COMMAND "${CMAKE_COMMAND}" -E env "LOCKSTEP_ROOT=${PROJECT_SOURCE_DIR}"
              $<TARGET_FILE:lockstep_exercises> case-source ${id} "${source}"
      DEPENDS lockstep_exercises "${PROJECT_SOURCE_DIR}/${right}" "${folder}/cases.json" "${folder}/spoilers/${id}.patch"
      COMMENT "Making case ${id}" VERBATIM)
    add_executable(${name} "${source}" ${sources})
    target_link_libraries(${name} PRIVATE lockstep::options ${arg_DEPENDS})
    lockstep_use_precompiled(${name} ordinary)
  endforeach()
endfunction()
