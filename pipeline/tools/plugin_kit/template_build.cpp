#include "pipeline/tools/plugin_kit/templates.h"

namespace flowtrain::plugin_kit {

const char* const template_cmake = R"file(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES @LANGUAGE@)

# flowtrain is searched for on the PATH; its headers lie in ../include/flowtrain beside an installed program, or at the
# root of the source tree in whose build/NAME/bin the program lies.
find_program(FLOWTRAIN flowtrain REQUIRED)
file(REAL_PATH ${FLOWTRAIN} program)
cmake_path(GET program PARENT_PATH program_folder)
find_path(FLOWTRAIN_INCLUDE sampling/plugin_abi.h REQUIRED
          HINTS ${program_folder}/../include/flowtrain ${program_folder}/../../..)

add_library(@NAME@ MODULE @NAME@.@SUFFIX@)
target_compile_features(@NAME@ PRIVATE @FEATURE@)
target_compile_options(@NAME@ PRIVATE -Wall -Wextra)
target_include_directories(@NAME@ PRIVATE ${FLOWTRAIN_INCLUDE})
set_target_properties(@NAME@ PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

include(CTest)
add_test(NAME check COMMAND ${FLOWTRAIN} plugin check $<TARGET_FILE:@NAME@>)
add_test(NAME bench WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
         COMMAND ${FLOWTRAIN} bench shapes.toml --seconds 0.2 --set run.plugins=["$<TARGET_FILE:@NAME@>"])
)file";

const char* const template_presets = R"file({
  "version": 6,
  "configurePresets": [
    {"name": "check", "binaryDir": "${sourceDir}/build", "cacheVariables": {"CMAKE_BUILD_TYPE": "Release"}}
  ],
  "buildPresets": [{"name": "check", "configurePreset": "check"}],
  "testPresets": [{"name": "check", "configurePreset": "check", "output": {"outputOnFailure": true}}],
  "workflowPresets": [
    {
      "name": "check",
      "steps": [
        {"type": "configure", "name": "check"},
        {"type": "build", "name": "check"},
        {"type": "test", "name": "check"}
      ]
    }
  ]
}
)file";

const char* const template_config = R"file(# flowtrain bench shapes.toml
[run]
plugins = ["build/@NAME@.so"]  # relative to the working directory

[data]
dataset = "shapes"

[sampler]
name = "@NAME@"
)file";

const char* const template_readme = R"file(# @NAME@
A sampler for flowtrain. Its rows are `image`, u8 (size, size, 1), with 255 inside a box of the picture and 0 outside,
and `label`, i64. `@NAME@.@SUFFIX@` is the whole plugin: change it into yours.

| file | content |
|---|---|
| `@NAME@.@SUFFIX@` | the sampler |
| `CMakeLists.txt`, `CMakePresets.json` | the build and the tests |
| `shapes.toml` | a configuration to try it with: the data set `shapes` needs no files |

Build it and run its tests, with `flowtrain` on the PATH:

    cmake --workflow --preset check

or build it with one compiler call, INCLUDE being flowtrain's `include/flowtrain` (or its source tree):

    @COMPILER@ -O2 -Wall -Wextra -fPIC -shared -I INCLUDE @NAME@.@SUFFIX@ -o @NAME@.so

Then, in this folder:

    flowtrain plugin check build/@NAME@.so            # all checks, on small trial data
    flowtrain plugin check build/@NAME@.so my.toml    # on the data of a configuration of yours
    flowtrain plugins build/@NAME@.so                 # its keys
    flowtrain bench shapes.toml                       # how fast it is in the loader

A configuration uses it by

```toml
[run]
plugins = ["build/@NAME@.so"]

[sampler]
name = "@NAME@"
size = 16
```
)file";

}  // namespace flowtrain::plugin_kit
