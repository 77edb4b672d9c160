#pragma once
// The files of page/ and the plotter, which the build puts into the program.

#include <string_view>

namespace flowtrain::page_files {

extern const std::string_view style;    ///< CSS
extern const std::string_view script;   ///< JavaScript of page/, as one text
extern const std::string_view plotter;  ///< dygraphs, with its licence in the first line

}  // namespace flowtrain::page_files
