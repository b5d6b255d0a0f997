# `cmake --install`: the libraries that a program outside this repository is written with, as find_package(Lockstep).

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The project's own targets that stand in a target's link items, at any depth, aliases resolved.
function(lockstep_link_closure result)
  set(found)
  set(waiting ${ARGN})
  while(waiting)
    list(POP_FRONT waiting target)
    get_target_property(aliased ${target} ALIASED_TARGET)
    if(aliased)
      set(target ${aliased})
    endif()
    get_target_property(is_imported ${target} IMPORTED)
    if(is_imported OR target IN_LIST found)
      continue()
    endif()
    list(APPEND found ${target})
    foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(items ${target} ${property})
      if(items)
        lockstep_targets_in(below ${target} ${items})
        foreach(name IN LISTS below)
          if(TARGET ${name})
            list(APPEND waiting ${name})
          endif()
        endforeach()
      endif()
    endforeach()
  endwhile()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# lockstep_install_package(LIBRARIES lockstep::nn PROGRAMS lockstep)
# Installs the libraries with all that they need, and the programs. The target lockstep_package builds that and no more.
function(lockstep_install_package)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "LIBRARIES;PROGRAMS")
  lockstep_reject_unknown("lockstep_install_package" ${arg_UNPARSED_ARGUMENTS})
  set(roots)
  foreach(library IN LISTS arg_LIBRARIES)
    if(TARGET ${library})  # releases for students lack some
      list(APPEND roots ${library})
    endif()
  endforeach()
  lockstep_link_closure(libraries ${roots})
  set(components)  # what find_package(Lockstep COMPONENTS ...) may name
  foreach(target IN LISTS libraries)
    string(REGEX REPLACE "^lockstep_" "" name ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    list(APPEND components ${name})
  endforeach()
  list(SORT components)
  list(JOIN components ", " components)

  # Headers of CUDA's and NCCL's names stay in folders of their own, which only those targets show.
  set(folder "${CMAKE_INSTALL_INCLUDEDIR}/lockstep")
  set(look_alikes ${libraries})
  list(FILTER look_alikes INCLUDE REGEX "^lockstep_cuda_headers$")
  set(ordinary ${libraries})
  list(FILTER ordinary EXCLUDE REGEX "^lockstep_cuda_headers$")
  install(TARGETS ${ordinary} EXPORT LockstepTargets FILE_SET HEADERS DESTINATION "${folder}")
  if(look_alikes)
    install(TARGETS ${look_alikes} EXPORT LockstepTargets FILE_SET HEADERS DESTINATION "${folder}/cuda")
  endif()
  set_target_properties(${arg_PROGRAMS} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS ${arg_PROGRAMS})

  # find_package() looks only for the backends that these libraries have.
  if(NOT TARGET lockstep::gloo)
    set(LOCKSTEP_GLOO OFF)
  endif()
  if(NOT MPI_CXX_FOUND)
    set(LOCKSTEP_MPI OFF)
  endif()
  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep")
  install(EXPORT LockstepTargets NAMESPACE lockstep:: DESTINATION "${package}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/common/cmake/LockstepConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/package/LockstepConfig.cmake" INSTALL_DESTINATION "${package}"
    NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/LockstepConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES
    "${PROJECT_BINARY_DIR}/package/LockstepConfig.cmake" "${PROJECT_BINARY_DIR}/package/LockstepConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/common/cmake/LockstepBackends.cmake"
    "${PROJECT_SOURCE_DIR}/common/cmake/LockstepDependencies.cmake"
    DESTINATION "${package}")
  add_custom_target(lockstep_package DEPENDS ${arg_PROGRAMS})
  foreach(target IN LISTS libraries)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      add_dependencies(lockstep_package ${target})
    endif()
  endforeach()
endfunction()
