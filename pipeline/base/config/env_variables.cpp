#include "pipeline/base/config/env_variables.h"

#include <cctype>
#include <cstdlib>
#include <map>

#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

bool is_name(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front()))) return false;
  for (unsigned char c : text)
    if (!std::isalnum(c) && c != '_') return false;
  return true;
}

std::string escape(std::string text) {
  for (auto at = text.find("${"); at != text.npos; at = text.find("${", at + 3)) text.insert(at, "$");
  return text;
}

template <class Change>
Value changed(const Value& value, Change change) {
  Value result = value;
  if (auto* text = std::get_if<std::string>(&result)) *text = change(*text);
  if (auto* texts = std::get_if<std::vector<std::string>>(&result))
    for (auto& text : *texts) text = change(text);
  return result;
}

}  // namespace

std::string expand_variables(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.starts_with("$${")) {
      result += "${";
      at += 3;
    } else if (rest.starts_with("${")) {
      const auto end = text.find('}', at);
      const std::string name = text.substr(at + 2, end == text.npos ? end : end - at - 2);
      if (end == text.npos || !is_name(name))
        throw UserError(ExitCode::usage, concat("expected the name of an environment variable in ", to_toml(text)),
                        "\"${DATA}/train\", for example; \"$${\" stands for the characters ${");
      const char* value = std::getenv(name.c_str());
      if (value == nullptr)
        throw UserError(ExitCode::usage, concat("the environment variable ", name, " is not set"),
                        concat("export ", name, "=…, or write \"$${\" for the characters ${"));
      result += value;
      at = end + 1;
    } else {
      result += text[at++];
    }
  }
  return result;
}

Value expand_variables(const Value& value) {
  return changed(value, [](const std::string& text) { return expand_variables(text); });
}

Value escape_variables(const Value& value) { return changed(value, escape); }

namespace {

struct Remembered {
  Mutex mutex;
  std::map<std::string, Value> texts FT_GUARDED_BY(mutex);
};

Remembered& remembered() {
  static Remembered& all = *new Remembered;  // never destroyed: threads may still write snapshots
  return all;
}

std::string id_of(const Settings& settings, const std::string& key) {
  return concat(settings.origin(key).text(), '\n', key, '\n', to_toml(settings.value(key)));
}

}  // namespace

Value as_written(const Settings& settings, const std::string& key) {
  Remembered& all = remembered();
  const MutexLock lock(all.mutex);
  const auto found = all.texts.find(id_of(settings, key));
  return found == all.texts.end() ? escape_variables(settings.value(key)) : found->second;
}

void remember_written(const Settings& settings, const std::string& key, const Value& text) {
  Remembered& all = remembered();
  const MutexLock lock(all.mutex);
  all.texts.insert_or_assign(id_of(settings, key), text);
}

}  // namespace flowtrain
