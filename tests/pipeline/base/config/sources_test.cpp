// [[data.source]]: several data sets in one configuration.

#include <doctest/doctest.h>

#include <algorithm>

#include "pipeline/base/config/config.h"
#include "pipeline/base/config/source_groups.h"
#include "pipeline/base/values/periods.h"
#include "sampling/core/settings.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::sources_test {

using namespace flowtrain::testing;

namespace {

const std::string two = R"([[data.source]]
dataset = "letters"
alphabet = "thai"
path = "a"
ratio = 3
[[data.source]]
dataset = "digits"
base = 2
ratio = 1
order = "spiral"
turns = 7
[data.val]
dataset = "digits"
base = 3
)";
const std::string no_validation = "[val]\nevery = 0\n";

/// Changes from the command line.
std::vector<Override> overrides_of(const std::vector<std::string>& all) {
  std::vector<Override> overrides;
  for (auto& each : all) overrides.push_back(parse_set(each));
  return overrides;
}

std::vector<Difference> changes(const std::vector<std::string>& sets) {
  return diff(loaded(two), loaded(two, overrides_of(sets)));
}

}  // namespace

TEST_CASE("several sources, each with the keys of its data set and of its order") {
  const auto config = loaded(two, overrides_of({"data.source.1.ratio=2", "data.epoch=shortest"}));
  const auto& sources = config.list("data.source");
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].text("alphabet") == "thai");
  CHECK(sources[0].real("ratio") == 3);
  CHECK(sources[0].text("order").empty());
  CHECK(sources[1].integer("base") == 2);
  CHECK(sources[1].integer("turns") == 7);
  CHECK(sources[1].real("ratio") == 2);
  CHECK(config.data(true).text("dataset").empty());
  CHECK(config.data(true).text("epoch") == "shortest");
  CHECK(config.data(false).integer("base") == 3);
  CHECK(loaded("[data]\ndataset = \"letters\"\n").list("data.source").empty());
  CHECK(loaded("[[data.source]]\ndataset = \"letters\"\n" + no_validation).list("data.source").size() == 1);
  CHECK(loaded("[data]\nbad = \"stop\"\nepoch = 20\nbatches = \"one_source\"\n" + two).data(true).integer("epoch") ==
        20);
}

TEST_CASE("sources that do not make sense are refused") {
  CHECK(refusal("[data]\ndataset = \"letters\"\n" + two).message ==
        "a.toml:2:1: data.dataset: [[data.source]] is given too (a.toml:3:8)");
  CHECK(refusal("[data]\npath = \"x\"\n" + two)
            .message.starts_with("a.toml:2:1: data.path: [[data.source]] is given too"));
  CHECK(refusal(two + "[data.train]\nsplit = \"x\"\n")
            .message.starts_with("a.toml:16:1: data.train.split: [[data.source]] is given too"));
  CHECK_NOTHROW(loaded("[[data.source]]\ndataset = \"letters\"\n"));  // nothing is validated
  CHECK(refusal(two, overrides_of({"data.path=x"}))
            .message.starts_with("--set: data.path: [[data.source]] is given too"));
  CHECK(refusal("[[data.source]]\npath = \"x\"\n" + no_validation)
            .message.starts_with("a.toml:1:1: data.source.0.dataset: must be given"));
  CHECK(refusal("[[data.source]]\ndataset = \"leters\"\n").message ==
        "a.toml:2:1: data.source.0.dataset: no data set is called 'leters'");
  CHECK(refusal("[[data.source]]\ndataset = \"letters\"\nbase = 3\n").message ==
        "a.toml:3:1: data.source.0.base: the data set 'letters' has no such key");
  CHECK(refusal("[data.source]\ndataset = \"letters\"\n")
            .message.starts_with("a.toml:1:7: data.source: expected a list of tables"));
  CHECK(refusal("[[data.source]]\ndataset = \"letters\"\nratio = -1\n")
            .message.starts_with("a.toml:3:1: data.source.0.ratio: must be"));
  CHECK(refusal("[[data.source]]\ndataset = \"letters\"\norder = \"spial\"\n")
            .message.starts_with("a.toml:3:1: data.source.0.order: no order is called"));

  const std::string once = "[[data.source]]\ndataset = \"letters\"\n";
  CHECK(refusal(once + "[val]\nevery = 5\n").message ==
        "a.toml:2:1: data.source.0.dataset: is for training alone: data.val.dataset must be given");
  CHECK(refusal(once + once + no_validation).message ==
        "a.toml:4:1: data.source.1.dataset: another [[data.source]] is called so (a.toml:2:1)");
  CHECK_NOTHROW(loaded(once + once + "name = \"more\"\n" + no_validation));
  CHECK(refusal(once + once + "name = \"more\"\nratio = 2\n" + no_validation).message ==
        "a.toml:6:1: data.source.1.ratio: some sources have one, and data.source.0 has none");
  CHECK(refusal(once + "ratio = 2\n" + once + "name = \"more\"\n" + no_validation).message ==
        "a.toml:3:1: data.source.0.ratio: some sources have one, and data.source.1 has none");
  CHECK(refusal(two + "epoch = 3\n").message == "a.toml:15:1: data.val.epoch: validation has one data set");
  CHECK(refusal("[data]\ndataset = \"letters\"\nepoch = 3\n").message ==
        "a.toml:3:1: data.epoch: is for several sources, and there are none");
  CHECK(refusal("[data]\nepoch = \"long\"\n" + two)
            .message.starts_with("a.toml:2:1: data.epoch: must be an integer or one of \"longest\", \"shortest\""));
  CHECK(refusal("[data]\nepoch = 0\n" + two).message.starts_with("a.toml:2:1: data.epoch: must be"));
}

TEST_CASE("of one data set and several sources, those of the later file stand") {
  add_entries();
  TempFolder temp;
  temp.write("one.toml",
             "[data]\ndataset = \"letters\"\nalphabet = \"runic\"\npath = \"p\"\nbad = \"stop\"\n[data.train]\nsplit = "
             "\"big\"\n");
  // What was said of both is validation's from then on.
  const auto several =
      load_config(temp.write("b.toml", "base = [\"one.toml\"]\n[[data.source]]\ndataset = \"digits\"\n"));
  CHECK(several.list("data.source").size() == 1);
  CHECK(several.data(true).text("dataset").empty());
  CHECK(several.data(true).text("split").empty());
  CHECK(several.data(true).text("bad") == "stop");
  CHECK(several.data(false).text("dataset") == "letters");
  CHECK(several.data(false).text("alphabet") == "runic");
  CHECK(several.data(false).text("path") == "p");
  // And the other way round; what was said of the sources goes with them.
  const auto one = load_config(temp.write("d.toml", "base = [\"b.toml\"]\n[data]\nepoch = \"shortest\"\n"),
                               {parse_set("data.dataset=letters")});
  CHECK(one.list("data.source").empty());
  CHECK(one.data(true).text("dataset") == "letters");
  // Another list takes the place of the whole list.
  const auto other = load_config(temp.write("c.toml", "base = [\"b.toml\"]\n[[data.source]]\ndataset = \"letters\"\n"));
  REQUIRE(other.list("data.source").size() == 1);
  CHECK(other.list("data.source")[0].text("dataset") == "letters");
  // An entry whose data set is replaced leaves that one's keys behind.
  CHECK(loaded(two, overrides_of({"data.source.0.dataset=digits", "data.source.0.name=first"}))
            .list("data.source")[0]
            .integer("base") == 10);
}

TEST_CASE("sources load again as they were written out") {
  TempFolder temp;
  for (auto& text : {two, "[data]\nepoch = 9\nbatches = \"one_source\"\nmax_bad = 3\n" + two,
                     "[[data.source]]\ndataset = \"letters\"\n[data.val]\nmax_bad = 2\n" + no_validation}) {
    const auto config = loaded(text);
    const auto again = load_config(temp.write("again.toml", to_toml(config)));
    const auto changed = diff(config, again);
    for (auto& each : changed) MESSAGE(each.key << ": " << each.was << " -> " << each.is);
    CHECK(changed.empty());
    CHECK(common_values(config) == common_values(again));
    for (std::size_t i = 0; i < config.list("data.source").size(); ++i)
      for (auto& key : config.list("data.source")[i].keys())
        CHECK(to_toml(config).find(key.name + " = " + to_toml(config.list("data.source")[i].value(key.name))) !=
              std::string::npos);
  }
}

TEST_CASE("what of sources a run can go on with") {
  for (auto set : {"data.source.0.path=b", "data.source.1.ratio=2", "data.source.1.base=4", "data.source.1.turns=2",
                   "data.epoch=shortest", "data.batches=one_source", "data.dataset=letters"}) {
    CAPTURE(set);
    const auto found = changes({set});
    REQUIRE_FALSE(found.empty());
    CHECK(std::ranges::any_of(found, &Difference::breaks));
  }
  const auto ratio = changes({"data.source.1.ratio=2"});
  REQUIRE(ratio.size() == 1);
  CHECK(ratio[0].key == "data.source.1.ratio");
  CHECK(ratio[0].was == "1.0");
  for (auto set : {"data.source.0.name=other", "data.val.base=5", "data.bad=stop"}) {
    const auto found = changes({set});
    REQUIRE_FALSE(found.empty());
    CHECK(std::ranges::none_of(found, &Difference::breaks));
  }
  CHECK(common_values(loaded(two)).contains("data.source.1.ratio"));
  CHECK_FALSE(common_values(loaded(two)).contains("data.source.1.name"));
}

TEST_CASE("sources with rows are groups, and keys that contradict that are refused") {
  const std::string groups =
      "[[data.source]]\nname = \"a\"\ndataset = \"letters\"\nrows = 4\n"
      "[[data.source]]\nname = \"b\"\ndataset = \"letters\"\nrows = 8\n";
  const auto config = loaded(groups + no_validation);
  CHECK(has_groups(config));
  CHECK(rows_of_groups(config) == std::vector<std::uint32_t>{4, 8});
  CHECK_FALSE(has_groups(loaded(two)));
  CHECK(number(config.loader().batch) == 12);
  CHECK(number(loaded(groups + no_validation, overrides_of({"data.source.1.rows=5"})).loader().batch) == 9);
  const auto with = [&](const std::string& more) { return refusal(groups + no_validation + more).message; };
  CHECK(with("[loader]\nbatch = 13\n") ==
        "a.toml:12:1: loader.batch: rows of the [[data.source]]s is given, too (a.toml:4:1), so a batch has 12 rows");
  CHECK(loaded(groups + no_validation + "[loader]\nbatch = 12\n").loader().batch.given());
  CHECK(with("[loader]\nbatch = \"auto\"\n").find("so a batch has 12 rows") != std::string::npos);
  CHECK(with("[loader]\nbatch_per_rank = 4\n").find("12 rows over all ranks") != std::string::npos);
  CHECK(with("[data]\nbatches = \"one_source\"\n").find("data.batches: rows of the [[data.source]]s is given, too") !=
        std::string::npos);
  CHECK(refusal("[[data.source]]\ndataset = \"letters\"\nrows = 4\n[[data.source]]\ndataset = \"digits\"\n" +
                no_validation)
            .message ==
        "a.toml:3:1: data.source.0.rows: some sources have rows, and data.source.1 (a.toml:5:1) has none");
  CHECK(refusal("[[data.source]]\ndataset = \"letters\"\nrows = 4\nratio = 2\n" + no_validation).message ==
        "a.toml:4:1: data.source.0.ratio: rows is given, too (a.toml:3:1)");
  const std::string field = "[[field]]\nname = \"label\"\nas = \"label\"\n";
  CHECK(with(field).find("field.0.source: must be given: the [[data.source]]s have rows (a.toml:4:1)") !=
        std::string::npos);
  CHECK(with(field + "source = \"c\"\n").find("field.0.source: no [[data.source]] is called 'c'") != std::string::npos);
  CHECK(with(field + "source = \"a\"\n").find("data.source.1.rows: no [[field]] belongs to b") != std::string::npos);
  CHECK(refusal(groups + "[val]\nevery = 0\nsource = \"c\"\n").message ==
        "a.toml:11:1: val.source: no [[data.source]] is called 'c'");
  CHECK(refusal("[data]\ndataset = \"letters\"\n" + field + "source = \"a\"\n").message ==
        "a.toml:6:1: field.0.source: is for groups of rows, and no [[data.source]] has rows");
}

}  // namespace flowtrain::sources_test
