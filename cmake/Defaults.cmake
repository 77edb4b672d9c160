# Build type, language level, warnings, ccache and sanitizers: the same for every target.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
                    $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
# .ci/run sets FLOWTRAIN_WERROR. Off for users: a warning that only a newer compiler has must not end their build.
option(CMAKE_COMPILE_WARNING_AS_ERROR "Warnings are errors" OFF)
if(DEFINED ENV{FLOWTRAIN_WERROR})
  set(CMAKE_COMPILE_WARNING_AS_ERROR $ENV{FLOWTRAIN_WERROR} CACHE BOOL "" FORCE)  # in a build that is there, too
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps and ends inside std::string that are not there (its bugs 105329 and 105651).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds> $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>
                      $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow>)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # GCC takes each file of a unit for a header
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
  # clang 18 gave templates other symbols than GCC, which builds LibTorch (LLVM issue 102443).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fclang-abi-compat=17>)
endif()
include_directories(${CMAKE_SOURCE_DIR})  # one spelling everywhere: #include "sampling/order.h"

find_program(CCACHE ccache)
if(CCACHE)
  # Sloppiness that ccache's manual asks for where precompiled headers are used.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

set(FLOWTRAIN_SANITIZE "" CACHE STRING "Sanitizers for every target: address,undefined or thread")
if(FLOWTRAIN_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${FLOWTRAIN_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${FLOWTRAIN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's manual: sanitizers make it warn where nothing is wrong.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
  if(FLOWTRAIN_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # moodycamel's fences, which TSan does not see; the tests use the queue's mutex twin (below).
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
  if(FLOWTRAIN_SANITIZE MATCHES "undefined")
    # A finding ends the program; code that could go on after one takes half as long again to compile.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
    # oneTBB 2021.8's flow graph casts to a class whose destructor has run; harmless, and in its headers.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      add_compile_options(-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/UndefinedIgnored.txt)
    endif()
  endif()
endif()
# The mutex twin of the lock-free queue: TSan cannot see the happens-before edges inside moodycamel's.
option(FLOWTRAIN_LOCKED_QUEUE "Use the mutex twin of the bounded queue" OFF)
if(FLOWTRAIN_LOCKED_QUEUE)
  add_compile_definitions(FLOWTRAIN_LOCKED_QUEUE)
endif()
