#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace flowtrain::testing {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace flowtrain::testing
