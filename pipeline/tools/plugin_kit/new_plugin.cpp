#include "pipeline/tools/plugin_kit/new_plugin.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "pipeline/tools/plugin_kit/templates.h"
#include "sampling/core/error.h"
#include "sampling/core/registry.h"
#include "sampling/core/text.h"
#include "sampling/sampler.h"

namespace flowtrain::plugin_kit {
namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

std::string filled_in(std::string text, const Words& words) {
  for (auto& [word, value] : words)
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + value.size()))
      text.replace(at, word.size(), value);
  return text;
}

void check_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto is_allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  if (name.empty() || !is_letter(name[0]) || !std::ranges::all_of(name, is_allowed))
    throw UserError(ExitCode::usage, "NAME: '" + name + "' cannot be a plugin's name",
                    "write small letters, digits and _, beginning with a letter");
  constexpr std::array reserved{"all", "clean", "edit_cache", "help", "install", "package", "rebuild_cache", "test"};
  if (std::ranges::find(reserved, name) != reserved.end())
    throw UserError(ExitCode::usage, "NAME: CMake reserves '" + name + "' for a target of its own",
                    "choose another name");
  if (samplers().has(name))
    throw UserError(ExitCode::usage, "NAME: a sampler '" + name + "' exists already", "choose another name");
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw UserError(ExitCode::usage, path.string() + ": cannot be written", "check that the disk has room");
}

}  // namespace

std::string write_new_plugin(const NewPlugin& plugin) {
  check_name(plugin.name);
  const bool is_c = plugin.language == "c";
  const Words words{{"@NAME@", plugin.name},
                    {"@LANGUAGE@", is_c ? "C" : "CXX"},
                    {"@SUFFIX@", plugin.language},
                    {"@FEATURE@", is_c ? "c_std_11" : "cxx_std_20"},
                    {"@COMPILER@", is_c ? "cc -std=c11" : "c++ -std=c++20"}};
  const std::filesystem::path folder = plugin.name;
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error))
    throw UserError(ExitCode::usage, concat(plugin.name, ": ", error ? error.message() : "it exists already"),
                    "choose another name, or work in another folder");
  write(folder / (plugin.name + "." + plugin.language), filled_in(is_c ? template_c : template_cpp, words));
  write(folder / "CMakeLists.txt", filled_in(template_cmake, words));
  write(folder / "CMakePresets.json", filled_in(template_presets, words));
  write(folder / "shapes.toml", filled_in(template_config, words));
  write(folder / "README.md", filled_in(template_readme, words));
  return concat("wrote ", plugin.name, "/; build and test it with flowtrain on the PATH:\n    cd ", plugin.name,
                " && cmake --workflow --preset check\n");
}

}  // namespace flowtrain::plugin_kit
