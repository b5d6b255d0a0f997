# Releases for students leave out sources that hold an answer, judges and mistakes (docs/release.md). What was compiled of
# them is in prebuilt/: objects/TARGET/SOURCE.o and exercises/PROGRAM. In a complete copy there is no such folder.
set(LOCKSTEP_PREBUILT "${PROJECT_SOURCE_DIR}/prebuilt")

# lockstep_or_prebuilt(sources lockstep_net frame.cpp address.cpp): the sources of a target; where one is left out, its
# object in its place.
function(lockstep_or_prebuilt result target)
  set(sources)
  foreach(source IN LISTS ARGN)
    get_filename_component(path "${source}" ABSOLUTE)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${path}")
    set(object "${LOCKSTEP_PREBUILT}/objects/${target}/${path}.o")
    if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${path}" AND EXISTS "${object}")
      set(source "${object}")
    endif()
    list(APPEND sources "${source}")
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# A program of exercises that was compiled before the release: the target copied_PROGRAM copies it to where
# `lockstep check` looks for programs.
function(lockstep_prebuilt_program target)
  set(program "${PROJECT_BINARY_DIR}/exercises/${target}")
  add_custom_command(OUTPUT "${program}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${LOCKSTEP_PREBUILT}/exercises/${target}" "${program}"
    DEPENDS "${LOCKSTEP_PREBUILT}/exercises/${target}" COMMENT "Copying ${target}" VERBATIM)
  add_custom_target(copied_${target} DEPENDS "${program}")
endfunction()
