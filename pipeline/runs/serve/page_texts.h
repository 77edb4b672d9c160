#pragma once
// The files of page/, which the build puts into the program.

#include <string_view>

namespace flowtrain::serve::page {

extern const std::string_view list_html, list_script, live_script, style;

}  // namespace flowtrain::serve::page
