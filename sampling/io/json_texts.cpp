#include "sampling/io/json_texts.h"

#include <rapidjson/document.h>

namespace flowtrain {

bool append_json_texts(std::string_view list, std::vector<std::string>& items) {
  rapidjson::Document read;
  read.Parse<rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag>(list.data(), list.size());
  if (read.HasParseError() || !read.IsArray()) return false;
  for (const auto& item : read.GetArray()) {
    if (!item.IsString()) return false;
    items.emplace_back(item.GetString(), item.GetStringLength());
  }
  return true;
}

}  // namespace flowtrain
