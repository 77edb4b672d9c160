#include "pipeline/config/cornernet_json.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "pipeline/config/keys.h"
#include "sampling/core/error.h"
#include "sampling/core/registry.h"
#include "sampling/sampler.h"

namespace flowtrain {
namespace {

using json = nlohmann::ordered_json;

/// A key of theirs, and where its value stands in ours.
struct Rule {
  const char* from;
  const char* table;
  const char* key;
};

constexpr Rule system_rules[] = {
    {"max_iter", "run", "max_iter"},
    {"data_dir", "data", "path"},
    {"sampling_function", "sampler", "name"},
    {"batch_size", "loader", "batch"},
    {"prefetch_size", "loader", "prefetch"},
    {"pretrain", "net", "pretrain"},
    {"opt_algo", "optim", "name"},
    {"learning_rate", "optim", "lr"},
    {"stepsize", "lr", "stepsize"},
    {"decay_rate", "lr", "decay_rate"},
    {"val_iter", "val", "every"},
    {"snapshot", "snapshot", "every"},
    {"display", "display", "every"},
};

/// What theirs says where a file says nothing, as far as ours says something else.
constexpr const char* defaults = R"({
  "system": {"max_iter": 100000, "data_dir": "./data", "sampling_function": "coco_detection", "batch_size": 1,
             "prefetch_size": 100, "opt_algo": "adam", "learning_rate": 0.001, "stepsize": 5000, "decay_rate": 10,
             "val_iter": 20, "snapshot": 400, "display": 5, "train_split": "training", "val_split": "validation"},
  "db": {"input_size": [383, 383], "output_sizes": [[96, 96]], "rand_scale_min": 0.8, "rand_scale_max": 1.4,
         "rand_scale_step": 0.2, "rand_crop": false, "rand_color": false, "border": 64, "gaussian_bump": false,
         "gaussian_iou": 0.7, "top_k": 20, "ae_threshold": 1, "nms_threshold": 0.7}
})";

/// Their names of splits, and those of COCO's files.
const std::map<std::string, std::string> splits = {{"trainval", "trainval2014"},
                                                   {"training", "trainval2014"},
                                                   {"minival", "minival2014"},
                                                   {"validation", "minival2014"},
                                                   {"testdev", "testdev2017"}};

struct Family {
  const char* net;
  const char* sampler;
};
const std::map<std::string, Family> families = {{"CornerNet", {"cornernet", "cornernet"}},
                                                {"CornerNet_Squeeze", {"cornernet_squeeze", "cornernet"}},
                                                {"CornerNet_Saccade", {"cornernet_saccade", "cornernet_saccade"}}};

/// Lists of lists one after the other: [[96, 256], [32, 96]] is [96, 256, 32, 96].
json flat(const json& value) {
  if (!value.is_array()) return value;
  json list = json::array();
  for (auto& each : value) {
    if (!each.is_array())
      list.push_back(each);
    else
      for (auto& inner : each) list.push_back(inner);
  }
  return list;
}

class Importer {
 public:
  explicit Importer(const std::filesystem::path& file) : file_(file) {
    std::ifstream stream(file);
    if (!stream) throw UserError(Exit::usage, file.string() + ": cannot be read");
    const json content = json::parse(stream, nullptr, /*allow_exceptions=*/false);
    if (!content.is_object() || !content.contains("system") || !content.contains("db") ||
        !content["system"].is_object() || !content["db"].is_object())
      throw UserError(Exit::usage, file.string() + ": not a configuration of CornerNet-Lite",
                      "expected {\"system\": {…}, \"db\": {…}}");
    const json all = json::parse(defaults);
    system_ = all["system"];
    db_ = all["db"];
    system_.update(content["system"]);
    db_.update(content["db"]);
  }

  std::string run() {
    const std::string name = file_.stem().string();
    const auto family = families.find(name.substr(0, name.find('-')));
    if (family == families.end())
      throw UserError(Exit::usage, file_.string() + ": its name is not that of a net",
                      "name it CornerNet.json, CornerNet_Squeeze.json or CornerNet_Saccade.json");
    set("net", "name", family->second.net);
    set("loss", "name", family->second.sampler);
    set("sampler", "name", family->second.sampler);
    set("data", "dataset", "coco");
    set("val", "batches", 1);
    set("val", "metrics", json::array());
    for (auto& rule : system_rules) take(system_, rule.from, rule.table, rule.key);
    if (tables_["optim"]["name"] == "sgd") {
      set("optim", "momentum", 0.9);
      set("optim", "weight_decay", 1e-4);
    }
    take_split("train_split", "data.train");
    take_split("val_split", "data.val");
    for (auto& key : samplers().at(family->second.sampler).keys) take(db_, key.name, "sampler", key.name);
    take(db_, "output_sizes", "sampler", "output_size");
    for (auto& key : core_keys("detect")) take(db_, key.name, "detect", key.name);
    take(db_, "att_thresholds", "detect", "att_threshold");
    return text(name);
  }

 private:
  void set(const std::string& table, const std::string& key, json value) { tables_[table][key] = std::move(value); }

  // Of lists of which theirs uses the first entry alone, that one is taken.
  void take(const json& from, const std::string& theirs, const std::string& table, const std::string& key) {
    used_.insert(theirs);
    if (!from.contains(theirs) || from[theirs].is_null()) return;
    const json& value = from[theirs];
    const bool only_first = theirs == "output_sizes" || theirs == "att_thresholds" || theirs == "att_scales";
    set(table, key, only_first && value.is_array() && !value.empty() ? value[0] : flat(value));
  }

  void take_split(const std::string& theirs, const std::string& table) {
    used_.insert(theirs);
    if (!system_.contains(theirs) || !system_[theirs].is_string()) return;
    const auto known = splits.find(system_[theirs].get<std::string>());
    set(table, "split", known == splits.end() ? system_[theirs] : json(known->second));
  }

  std::string text(const std::string& name) const {
    std::string toml = "name = ";
    toml.append(json(name).dump()).append("\n");
    for (auto* table : {"run", "data", "data.train", "data.val", "sampler", "loader", "net", "loss", "optim", "lr",
                        "val", "snapshot", "display", "detect"}) {
      const auto found = tables_.find(table);
      if (found == tables_.end()) continue;
      toml.append("\n[").append(table).append("]\n");
      for (auto& [key, value] : found->second) toml.append(key).append(" = ").append(value.dump()).append("\n");
    }
    std::string unused;
    for (auto* part : {&system_, &db_})
      for (auto& [key, value] : part->items())
        if (!used_.contains(key)) unused.append("#     ").append(key).append(" = ").append(value.dump()).append("\n");
    return unused.empty() ? toml : toml + "\n# Of " + file_.filename().string() + ", not needed here:\n" + unused;
  }

  std::filesystem::path file_;
  json system_, db_;
  std::map<std::string, std::map<std::string, json>> tables_;
  std::set<std::string> used_;
};

}  // namespace

std::string import_cornernet_json(const std::filesystem::path& file) { return Importer(file).run(); }

}  // namespace flowtrain
