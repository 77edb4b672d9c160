#pragma once
// The files of a new plugin. @NAME@ stands for its name, @LANGUAGE@ for C or CXX, @SUFFIX@ for c or cpp.

namespace flowtrain::plugin_kit {

extern const char* const template_c;      ///< NAME.c: the C interface, with block calls
extern const char* const template_cpp;    ///< NAME.cpp: its C++ wrapper, with random numbers
extern const char* const template_cmake;  ///< CMakeLists.txt: the build, and the tests
extern const char* const template_presets;
extern const char* const template_config;  ///< shapes.toml
extern const char* const template_readme;

}  // namespace flowtrain::plugin_kit
