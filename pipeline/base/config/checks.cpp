#include "pipeline/base/config/checks.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>

#include "nets/entries.h"
#include "pipeline/base/config/inference_settings.h"
#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/listen_address.h"
#include "pipeline/base/config/metric_rules.h"
#include "pipeline/base/config/part_kinds.h"
#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/schedules/schedule.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/pattern.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/samplers/decorators/decorator.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {
namespace {

void check_name(const Config& config) {
  auto& name = config.name();
  bool control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
  if (name.empty() || name.front() == '.' || control || name.find('/') != std::string::npos || name.size() > 200)
    throw config.table("").error("name", "cannot be a folder's name: " + to_toml(Value(name)));
}

void check_device(const RunKeys& run) {
  const std::string_view device = *run.device;
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  constexpr std::string_view cuda = "cuda:";
  auto index = device.substr(std::min(device.size(), cuda.size()));
  bool digits = std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!device.starts_with(cuda) || index.empty() || index.size() > 3 || !digits)
    throw run.device.error("expected auto, cpu, cuda or cuda:N, got " + to_toml(*run.device));
}

// Calls the check that an entry has for its own keys.
void check_parts_of(const Config& config, const PartKind& kind) {
  const auto check = [&](const Settings& settings) {
    const std::string& name = settings.text(kind.key);
    if (name.empty()) return;
    if (const auto facts = kind.at(name); facts.check) facts.check(settings);
  };
  if (kind.table == "data") {
    for (auto* data : {&config.data(true), &config.data(false), &config.test_data()}) check(*data);
  } else if (config.has_list(kind.table)) {
    for (auto& settings : config.list(kind.table)) check(settings);
  } else {
    check(config.table(kind.table));
  }
}

/// Refuses two tables of one name.
class Names {
 public:
  /// `table`: its name in messages; `hint`: the way out.
  explicit Names(std::string table, std::string hint = {}) : table_(std::move(table)), hint_(std::move(hint)) {}

  /// `key`: the key of `settings` that holds its name, which is written into lines and names of files.
  void add(const Settings& settings, const std::string& key) {
    if (std::ranges::any_of(settings.text(key), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      throw settings.error(key, "expected a name without line breaks and other control characters");
    const auto [first, is_new] = names_.emplace(settings.text(key), settings.origin(key));
    if (!is_new)
      throw settings.error(key, concat("another [[", table_, "]] is called so (", first->second.text(), ")"),
                           ExitCode::usage, hint_);
  }
  const std::map<std::string, Origin>& all() const { return names_; }

 private:
  std::string table_, hint_;
  std::map<std::string, Origin> names_;
};

void check_labels(const std::vector<Settings>& optims, const std::vector<Settings>& schedules) {
  Names labels("optim", "give each a label");
  for (auto& optim : optims) labels.add(optim, label_key(optim));
  for (auto& schedule : schedules)
    if (auto& wanted = schedule.text("optim"); !wanted.empty() && !labels.all().contains(wanted))
      throw schedule.error("optim", "no optimizer is called '" + wanted + "'", ExitCode::usage,
                           "known: " + join(labels.all(), ", ", [](auto& label) { return label.first; }));
}

// Refuses [[field]] tables beside a sampler that makes other fields.
void check_fields(const Config& config) {
  const Settings& sampler = config.table("sampler");
  if (config.list("field").empty() || decorated_sampler(sampler) == "fields") return;
  throw sampler.error("name",
                      concat("[[field]] is given, too (", config.list("field").front().origin("name").text(), "), but ",
                             to_toml(sampler.value("name")), " makes fields of its own"),
                      ExitCode::usage, "leave out sampler.name, or [[field]]");
}

// Checks several sources, and refuses keys that only they need if there are none.
void check_sources(const Config& config) {
  const auto& sources = config.list("data.source");
  const Settings &train = config.data(true), &val = config.data(false);
  for (auto& [key, fallback] : {std::pair{"epoch", std::string("longest")}, {"batches", "mixed"}}) {
    if (sources.empty() && train.value(key) != Value(fallback))
      throw train.error(key, "is for several sources, and there are none", ExitCode::usage,
                        "give [[data.source]]s, or leave it out");
    if (config.table("data.val").given(key))
      throw config.table("data.val").error(key, "validation has one data set", ExitCode::usage, "set it in [data]");
  }
  if (sources.empty()) return;
  if (val.text("dataset").empty() && !period(config.val().every).off())
    throw sources.front().error("dataset", "is for training alone: data.val.dataset must be given", ExitCode::usage,
                                "name a data set in [data.val], or set val.every = 0");
  Names names("data.source", "give each a name");
  for (auto& source : sources) {
    names.add(source, source.text("name").empty() ? "dataset" : "name");
    const Settings& other = sources.front();
    if ((source.real("ratio") > 0) != (other.real("ratio") > 0))
      throw(source.real("ratio") > 0 ? source : other)
          .error(
              "ratio",
              concat("some sources have one, and ", (source.real("ratio") > 0 ? other : source).table(), " has none"),
              ExitCode::usage, "give all of them a ratio, or none");
  }
}

// Refuses samples that are held out of training beside samples that validation has of its own.
void check_val_share(const Config& config) {
  for (const char* table : {"data.train", "data.val"})
    if (config.table(table).given("val_share"))
      throw config.table(table).error("val_share", "is for training and validation together", ExitCode::usage,
                                      "set it in [data]");
  const Settings& train = config.data(true);
  const double share = train.real("val_share");
  if (share < 0 && share != -1)
    throw train.error("val_share", concat("expected a share from 0 to 0.9, or -1 for the default, got ", share));
  if (share <= 0) return;
  const auto refuse = [&](const Settings& table, const std::string& key) {
    throw train.error("val_share", concat(table.table(), ".", key, " is given, too (", table.origin(key).text(), ")"),
                      ExitCode::usage, "leave out val_share to validate on that data, or that key to hold out samples");
  };
  if (const auto& sources = config.list("data.source"); !sources.empty()) refuse(sources.front(), "dataset");
  const auto differs = [&](const std::string& key) {
    const Settings& val = config.data(false);
    return !val.has(key) || val.value(key) != train.value(key);
  };
  for (const char* table : {"data.val", "data.train"}) {
    const Settings& own = config.table(table);
    for (auto& key : own.keys())
      if (own.given(key.name) && !is_of_loader(key.name) && differs(key.name)) refuse(own, key.name);
  }
}

void check_pattern(const Settings& settings, const std::string& key) {
  try {
    Pattern pattern(settings.text(key));
  } catch (const PatternError& error) {
    throw settings.error(key, error.what(), ExitCode::usage, "write it as in Python and Perl: ^layer1\\.");
  }
}

void check_hooks(const std::vector<Settings>& hooks) {
  Names labels("hook", "give each a label");
  for (auto& hook : hooks) labels.add(hook, label_key(hook));
}

void check_own_metrics(const std::vector<Settings>& own) {
  Names labels("metric", "give each a label");
  for (auto& metric : own) {
    if (metric.text("name") == "topN")
      throw metric.error("name", "topN stands for top1, top2 and so on", ExitCode::usage, "name = \"top5\", say");
    const std::string& label = label_of(metric);
    labels.add(metric, label_key(metric));
    if (is_detection_metric(label) || label == "loss" || (label != metric.text("name") && nets::find_metric(label)))
      throw metric.error(label_key(metric), "'" + label + "' is a metric already");
  }
}

void check_metric_names(const ValKeys& val, const std::vector<Settings>& own) {
  for (auto& name : *val.metrics)
    if (name != "loss" && !is_detection_metric(name) && !nets::find_metric(name) &&
        std::ranges::find(own, name, label_of) == own.end())
      throw val.metrics.error(concat("unknown metric '", name, "'; known: ", join(nets::metrics().names()), ", ",
                                     join(detection_metric_names())));
}

// Refuses metrics of spans for labels of words that are no spans.
void check_span_tags(const Config& config) {
  const auto counts_spans = [&](const std::string& label) {
    const auto& own = config.list("metric");
    const auto found = std::ranges::find(own, label, label_of);
    return (found == own.end() ? label : found->text("name")).starts_with("span_");
  };
  const ValKeys val = config.val();
  const auto metric = std::ranges::find_if(*val.metrics, counts_spans);
  if (metric == val.metrics->end()) return;
  const auto begins_span = [](const std::string& tag) { return tag.starts_with("B-") && tag.size() > 2; };
  for (auto& field : validation_fields(config)) {
    if (const auto& as = field.text("as"); as == "lm" || as == "masked_lm")
      throw val.metrics.error(concat("'", *metric, "' counts spans of tags, but the labels are tokens (", field.table(),
                                     ".as = \"", as, "\")"),
                              ExitCode::usage, "measure perplexity and accuracy");
    if (field.has("tags") && std::ranges::none_of(field.texts("tags"), begins_span))
      throw field.error("tags",
                        concat("no tag begins a span, and ", *metric, " (val.metrics, ", val.metrics.origin().text(),
                               ") counts spans: O, and B-X and I-X of each kind X"),
                        ExitCode::usage, "measure accuracy and f1 of tags that are no spans");
  }
}

void check_metric(const Settings& rule, const Config& config) {
  const ValKeys val = config.val();
  auto metric = ruled_metric(rule, config).name;
  if (rule.text("metric").empty()) return;
  if (metric.starts_with(of_training)) {
    if (rule.text("mode") == "auto" && !rule.text("metric").starts_with('-') && metric_of(metric, {}).empty())
      throw rule.error("mode", concat("only you know which values of '", metric, "' are better"), ExitCode::usage,
                       "mode = \"min\" or \"max\"");
    return;
  }
  for (auto& set : config.list("val.set"))
    if (const auto prefix = set.text("name") + "."; metric.starts_with(prefix)) metric = metric.substr(prefix.size());
  const auto& known = *val.metrics;
  if (!val.group_by->empty())
    if (const auto whole = metric_of(metric, known);
        !whole.empty() && whole != "loss" && metric.starts_with(whole + ".") && metric.size() > whole.size() + 1)
      metric = whole;
  if (!is_single_number(metric, config))
    throw rule.error("metric",
                     concat("'", metric, "' is not a single number, so it cannot rank snapshots or end a run"),
                     ExitCode::usage, "balanced_accuracy or f1, say, are means over the classes");
  if (metric == "loss" || std::find(known.begin(), known.end(), metric) != known.end()) return;
  throw rule.error("metric", concat("'", metric, "' is not among val.metrics = ", to_toml(known), " (",
                                    val.metrics.origin().text(), ")"));
}

// Returns whether the command line has switched validation off, which is no mistake.
bool is_off_for_once(const ValKeys& val) {
  return period(val.every).off() && val.every.given() && val.every.origin().line == 0;
}

// Refuses a rule that could never act.
void check_rule(const Settings& rule, const Config& config) {
  const ValKeys val = config.val();
  if (rule.integer("patience") > 0 && period(val.every).off())
    throw rule.error("patience",
                     "counts validations, and there are none: val.every is 0 (" + val.every.origin().text() + ")",
                     ExitCode::usage, "set val.every, \"1 epoch\" say");
  check_metric(rule, config);
}

/// Returns whether an optimizer has the hyper-parameter that [[schedule]] calls `target`.
bool has_target(const Settings& optim, const std::string& target, const Config& config) {
  if (target == "lr") return true;
  if (target == "weight_decay")
    return optim.real("weight_decay") > 0 ||
           std::ranges::any_of(config.list("group"), [](auto& group) { return group.real("weight_decay") > 0; });
  const std::string& key = nets::optimizers().at(optim.text("name")).traits.momentum;
  if (key.empty()) return false;
  const auto* several = std::get_if<std::vector<double>>(&optim.value(key));
  return several ? several->empty() || several->front() > 0 : optim.real(key) > 0;
}

// Refuses a schedule of what none of its optimizers has.
void check_target(const Settings& schedule, const Config& config) {
  const auto &wanted = schedule.text("optim"), &target = schedule.text("target");
  std::string lacking;
  for (auto& optim : config.list("optim")) {
    if (!wanted.empty() && label_of(optim) != wanted) continue;
    if (has_target(optim, target, config)) return;
    lacking +=
        concat(lacking.empty() ? "" : ", ", to_toml(optim.value("name")), " (", optim.origin("name").text(), ")");
  }
  throw schedule.error("target", concat("has no effect: there is no ", target, " in ", lacking), ExitCode::usage,
                       concat("leave the schedule out, or give the optimizer a ", target, " above 0"));
}

void check_schedule(const Settings& schedule, const Config& config) {
  check_target(schedule, config);
  const ValKeys val = config.val();
  const std::string& name = schedule.text("name");
  if (!schedules().at(name).traits.has_state || is_off_for_once(val)) return;
  if (period(val.every).off())
    throw schedule.error("name",
                         concat("\"", name, "\" looks at validations, and there are none: val.every is 0 (",
                                val.every.origin().text(), ")"),
                         ExitCode::usage, "set val.every, \"1 epoch\" say");
  if (schedule.has("metric")) check_metric(schedule, config);
}

// Checks the name of a set, which is the name of a folder of its files.
void check_set_name(const Settings& set, std::initializer_list<std::string_view> taken) {
  const std::string& name = set.text("name");
  if (name.empty() || name.find_first_of("./") != std::string::npos)
    throw set.error("name", "expected a name without dots and slashes");
  if (std::ranges::find(taken, name) != taken.end())
    throw set.error("name", concat("'", name, "' is what [data.", name, "] is called: choose another name"));
}

void check_sets(const std::vector<Settings>& sets, const ValKeys& val) {
  Names names("val.set");
  for (auto& set : sets) {
    const std::string& name = set.text("name");
    check_set_name(set, {"val"});
    if (concat(name, ".") == of_training)
      throw set.error("name", "'train.' begins the names of training's own values: choose another name");
    if (concat(name, ".") == class_accuracy)
      throw set.error("name", "'accuracy.' begins the metrics of accuracy_per_class: choose another name");
    if (metric_of(name, *val.metrics) == name)
      throw set.error("name",
                      concat("'", name, "' is a metric of [data.val] (val.metrics, or loss): choose another name"));
    names.add(set, "name");
  }
}

// Checks the names of sets and settings, which tell results apart and are parts of folders' names.
void check_test(const Config& config) {
  Names sets("test.set"), settings("test.setting");
  for (auto& set : config.list("test.set")) {
    check_set_name(set, {"val", "test"});
    sets.add(set, "name");
  }
  for (auto& setting : config.list("test.setting")) {
    if (setting.text("name").empty() || setting.text("name").find('/') != std::string::npos)
      throw setting.error("name", "expected a name without slashes");
    settings.add(setting, "name");
  }
  inference_settings(config);
  std::set<std::string> lists;
  for (auto& rule : config.list("test.worst")) {
    if (rule.text("metric") == "auto" && rule.text("mode") == "min")
      throw rule.error("mode", "\"min\" needs a metric, but metric is \"auto\"", ExitCode::usage,
                       "name one: metric = \"score\", for example");
    if (!lists.insert(rule.text("metric") + rule.text("mode")).second)
      throw rule.error("metric", "another [[test.worst]] lists the same samples", ExitCode::usage,
                       "keep one of the two, or give them different values of metric or mode");
  }
}

void check_best(const Config& config) {
  const auto& rules = config.list("best");
  const ValKeys val = config.val();
  const SnapshotKeys snapshot = config.snapshot();
  std::map<std::string, const Settings*> metrics;
  for (auto& rule : rules) {
    check_metric(rule, config);
    if (rule.text("metric").find('/') != std::string::npos)
      throw rule.error("metric", "a '/' cannot be in the name of a link to a snapshot");
    const auto [first, is_new] = metrics.emplace(named_metric(rule), &rule);
    if (!is_new)
      throw rule.error("metric", concat("another [[best]] has it, too (", first->second->origin("metric").text(), ")"));
  }
  if (!rules.empty() && *snapshot.keep_best != 1)
    throw snapshot.keep_best.error(concat("[[best]] is given, too (", rules.front().origin("metric").text(), ")"),
                                   ExitCode::usage, "[[best]] has keep");
  if ((!rules.empty() || *snapshot.end_with_best) && period(val.every).off() && !is_off_for_once(val))
    throw(rules.empty() ? snapshot.end_with_best.error("no snapshot is the best without validation: val.every is 0")
                        : rules.front().error("metric", "no snapshot is the best without validation: val.every is 0"));
}

void check_parts(const Setting<std::vector<std::string>>& save) {
  if (std::ranges::find(*save, "params") == save->end())
    throw save.error("\"params\" must be among them, got " + to_toml(*save));
}

void check_range(const Settings& settings, const std::string& key) {
  const auto& range = settings.reals(key);
  if (range.size() != 2 || range[0] > range[1])
    throw settings.error(key, "must be [least, most], got " + to_toml(settings.value(key)));
}

// Refuses keys that the rule does not read.
void check_init_rule(const Settings& rule) {
  const std::string& name = rule.text("rule");
  const bool kaiming = name.starts_with("kaiming"), normal = name == "normal", truncated = name == "trunc_normal";
  const std::map<std::string, bool> reads{{"params", true},
                                          {"rule", true},
                                          {"value", name == "constant"},
                                          {"mean", normal || truncated},
                                          {"std", normal || truncated},
                                          {"range", truncated || name == "uniform"},
                                          {"gain", name.starts_with("xavier") || name == "orthogonal"},
                                          {"mode", kaiming},
                                          {"nonlinearity", kaiming},
                                          {"negative_slope", kaiming && rule.text("nonlinearity") == "leaky_relu"}};
  for (auto& key : rule.keys())
    if (!reads.at(key.name) && rule.value(key.name) != key.fallback)
      throw rule.error(key.name, concat("means nothing to rule = ", to_toml(rule.value("rule"))), ExitCode::usage,
                       "`flowtrain config --keys` says which rules read it");
  if (!rule.reals("range").empty())
    check_range(rule, "range");
  else if (name == "uniform")
    throw rule.error("rule", "\"uniform\" needs a range", ExitCode::usage, "range = [-0.05, 0.05], say");
}

void check_mixing(const Settings& mix, const Settings& loss) {
  const auto alpha = mix.real("mixup") > 0 ? "mixup" : "cutmix";
  if (mix.real(alpha) <= 0 || nets::losses().at(loss.text("name")).traits.mixes) return;
  throw mix.error(alpha,
                  "mixes class labels, and loss.name = " + to_toml(loss.value("name")) + " (" +
                      loss.origin("name").text() + ") knows none",
                  ExitCode::usage, "keep one of the two; batch_augment.erase needs no labels");
}

}  // namespace

void check_values(const Config& config) {
  check_name(config);
  check_device(config.run());
  for (auto& kind : part_kinds()) check_parts_of(config, kind);
  check_labels(config.list("optim"), config.list("schedule"));
  for (auto table : {"optim", "group", "net.init"})
    for (auto& settings : config.list(table)) check_pattern(settings, "params");
  for (auto& rule : config.list("net.init")) check_init_rule(rule);
  check_hooks(config.list("hook"));
  check_own_metrics(config.list("metric"));
  check_metric_names(config.val(), config.list("metric"));
  check_span_tags(config);
  check_sets(config.list("val.set"), config.val());
  check_test(config);
  check_rule(config.table("early_stop"), config);
  for (auto& schedule : config.list("schedule")) check_schedule(schedule, config);
  check_best(config);
  check_fields(config);
  check_sources(config);
  check_groups(config);
  check_val_share(config);
  check_parts(config.snapshot().save);
  for (auto key : {"scale", "ratio"}) check_range(config.table("batch_augment.erase"), key);
  check_mixing(config.table("batch_augment"), config.table("loss"));
  period(config.val().every);
  period(config.snapshot().every, /*by_clock=*/true);
  period(config.snapshot().keep_every);
  for (auto key : {"every", "histograms"}) period(config.table("display"), key);
  listen_address(config.table("display"), "prometheus");
  period(config.table("lr"), "stepsize");
  for (bool training : {true, false}) bad_sample_budget(config.data(training), 0);
}

}  // namespace flowtrain
