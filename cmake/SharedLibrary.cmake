# Shared libraries that are made of the objects of static ones, which the test programs link.

# flowtrain_add_archives(target archives…): puts all objects of the archives into the target, and links what they link
# outside of this tree. An archive that an archive links is not followed: it is in another shared library, or listed.
function(flowtrain_add_archives target)
  foreach(archive ${ARGN})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${archive}>)
    get_target_property(libraries ${archive} LINK_LIBRARIES)
    list(FILTER libraries EXCLUDE REGEX "flowtrain_|NOTFOUND")
    target_link_libraries(${target} PRIVATE ${libraries})
  endforeach()
endfunction()

# flowtrain_shared_library(name archives…): libflowtrain_<name>.so, the target flowtrain_shared_<name>, for users
# flowtrain::<name>. Before 1.0 each minor version has other interfaces, and so its own SOVERSION.
function(flowtrain_shared_library name)
  set(target flowtrain_shared_${name})
  add_library(${target} SHARED)
  flowtrain_add_archives(${target} ${ARGN})
  # Calls within the library are as fast as in a program, and symbols of other libraries that we compile in stay inside.
  set(symbols ${PROJECT_SOURCE_DIR}/cmake/symbols.map)
  target_link_options(${target} PRIVATE LINKER:-Bsymbolic-functions LINKER:--no-undefined
                      LINKER:--version-script=${symbols})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME flowtrain_${name} EXPORT_NAME ${name} INSTALL_RPATH "$ORIGIN"
                        LINK_DEPENDS ${symbols})
  if(NOT SKBUILD)  # a wheel holds no links, and so one name for each file
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
endfunction()
