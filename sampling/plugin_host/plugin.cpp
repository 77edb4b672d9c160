#include "sampling/plugin_host/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/plugin_host/plugin_sampler.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

/// Returns the fallback of a plugin's key as a value of its kind; throws std::invalid_argument if it is none.
Value fallback_of(const ft_key& key) {
  const std::string text = key.fallback ? key.fallback : "";
  const auto number = [&](auto value) {
    const auto parsed = parse_number<decltype(value)>(text);
    if (!parsed) throw std::invalid_argument(text);
    return Value(*parsed);
  };
  switch (key.kind) {
    case FT_TEXT: return text;
    case FT_INTEGER: return number(std::int64_t{});
    case FT_REAL: return number(double{});
    case FT_BOOLEAN:
      if (text != "true" && text != "false") break;
      return text == "true";
  }
  throw std::invalid_argument(text);
}

Kind kind_of(std::uint32_t kind) {
  switch (kind) {
    case FT_INTEGER: return Kind::integer;
    case FT_REAL: return Kind::real;
    case FT_BOOLEAN: return Kind::boolean;
    default: return Kind::text;
  }
}

/// Returns the forms of parts as plugins see them.
std::vector<ft_part> to_abi(const std::vector<PartForm>& forms) {
  std::vector<ft_part> parts;
  for (auto& form : forms)
    parts.push_back({form.name.c_str(), static_cast<std::uint32_t>(form.encoding),
                     static_cast<std::uint32_t>(form.dtype), nullptr, 0, form.shape.data(),
                     static_cast<std::uint32_t>(form.shape.size())});
  return parts;
}

/// The settings as texts for create().
struct SettingTexts {
  std::map<std::string, std::string> values;

  SettingTexts(const Settings& settings, const std::vector<Key>& keys) {
    for (const auto& key : keys) {
      const auto& value = settings.value(key.name);
      const auto* text = std::get_if<std::string>(&value);
      values[key.name] = text ? *text : to_toml(value);
    }
  }
  static const char* get(const ft_create* self, const char* name) {
    const auto& values = static_cast<const SettingTexts*>(self->host)->values;
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  }
};

}  // namespace

/// The open shared object and its table.
struct SamplerPlugin::Library {
  const std::string path;
  void* handle = nullptr;
  const ft_sampler_plugin* table = nullptr;

  explicit Library(const std::string& file) : path(file) {}
  ~Library() {
    if (handle) dlclose(handle);
  }
  /// Makes the error "sampler plugin './edges.so': <message>".
  UserError error(const std::string& message, const std::string& hint = {}) const {
    return UserError(ExitCode::usage, "sampler plugin '" + path + "': " + message, hint);
  }
  void open();
  void check_table() const;
};

void SamplerPlugin::Library::open() {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw error("no such file", "relative paths start at the working directory");
  // An absolute path keeps dlopen from searching the library folders for a bare name.
  handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw error(std::string("cannot be loaded: ") + dlerror(), "build it as docs/extending.md says");
  const auto entry = reinterpret_cast<const ft_sampler_plugin* (*)()>(dlsym(handle, "flowtrain_sampler_plugin"));
  if (!entry)
    throw error("does not export flowtrain_sampler_plugin", "end its source with FLOWTRAIN_SAMPLER_PLUGIN(...)");
  table = entry();
  check_table();
}

void SamplerPlugin::Library::check_table() const {
  const std::string rebuild = "rebuild the plugin with this flowtrain's headers";
  if (!table) throw error("flowtrain_sampler_plugin returned no table");
  if (table->abi != FT_SAMPLER_ABI)
    throw error(
        concat("it was built for interface version ", table->abi, ", but this flowtrain has version ", FT_SAMPLER_ABI),
        rebuild);
  if (table->struct_size != sizeof(ft_sampler_plugin))
    throw error(concat("the plugin's table has ", table->struct_size, " bytes, but flowtrain's has ",
                       sizeof(ft_sampler_plugin)),
                rebuild);
  if (!table->name || !table->help || !table->create || !table->destroy || !table->fields || !table->sample ||
      (table->keys_count > 0 && !table->keys))
    throw error("the plugin's table is incomplete",
                "every member of ft_sampler_plugin but measure and sample_rows must be set");
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < table->keys_count; ++i) {
    const ft_key& key = table->keys[i];
    if (!key.name || !*key.name || !key.help) throw error("key " + std::to_string(i) + " has no name or no help");
    if (!names.insert(key.name).second) throw error(std::string("two keys are called '") + key.name + "'");
    try {
      fallback_of(key);
    } catch (const std::invalid_argument&) {
      throw error(std::string("the default of its key '") + key.name + "' is not of its kind");
    }
  }
}

SamplerPlugin::SamplerPlugin(const std::string& path) : library_(std::make_shared<Library>(path)) { library_->open(); }

std::string SamplerPlugin::name() const { return library_->table->name; }
std::string SamplerPlugin::help() const { return library_->table->help; }

std::vector<Key> SamplerPlugin::keys() const {
  std::vector<Key> keys;
  for (std::uint32_t i = 0; i < library_->table->keys_count; ++i) {
    const ft_key& key = library_->table->keys[i];
    keys.push_back({key.name, kind_of(key.kind), fallback_of(key), key.help});
  }
  return keys;
}

std::unique_ptr<Sampler> SamplerPlugin::make(const Settings& settings, const SamplerInput& input) const {
  const ft_sampler_plugin* table = library_->table;
  const StoredForm form = stored_form(input.dataset);
  SettingTexts texts(settings, keys());
  const auto forms = input.dataset.parts();
  const auto parts = to_abi(forms);
  const bool pixels = form.encoding == Encoding::pixels;
  const ft_create create{sizeof(ft_create),
                         input.training,
                         static_cast<std::int64_t>(input.dataset.classes().size()),
                         input.dataset.size(),
                         static_cast<std::uint32_t>(form.encoding),
                         static_cast<std::uint32_t>(pixels ? form.height : 0),
                         static_cast<std::uint32_t>(pixels ? form.width : 0),
                         static_cast<std::uint32_t>(pixels ? form.channels : 0),
                         parts.data(),
                         parts.size(),
                         SettingTexts::get,
                         &texts};
  void* self = nullptr;
  char message[plugin_message_bytes] = {};
  if (table->create(&create, &self, message, sizeof message - 1) != 0)
    throw library_->error(std::string("cannot be created: ") + message, "see its keys in `flowtrain plugins`");
  try {
    return make_plugin_sampler(library_, table, self);
  } catch (const std::invalid_argument& wrong) {
    throw library_->error(wrong.what());
  }
}

}  // namespace flowtrain
