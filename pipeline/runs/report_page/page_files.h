#pragma once
// What a page is made of: the files of page/ and the plotter, put into the program when it is built.

#include <string_view>

namespace flowtrain::page_files {

extern const std::string_view style;    ///< CSS
extern const std::string_view script;   ///< JavaScript of page/, as one text
extern const std::string_view plotter;  ///< dygraphs, with its licence in the first line

}  // namespace flowtrain::page_files
