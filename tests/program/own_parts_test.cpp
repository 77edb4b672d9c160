// Data sets, schedules, nets, losses, optimizers and metrics of one's own, as plugins.

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/program/detector.h"
#include "tests/program/ranks.h"

namespace flowtrain::own_parts_test {
namespace {

Words setting(const std::string& key, const std::string& value) { return {"--set", key + "=" + value}; }

/// Opens the plugin `part`, and names the part so called in `table`.
Words of_plugin(const std::string& table, const std::string& part) {
  return with(opening({part}), setting(table + ".name", part));
}

/// Trained whole, and in two parts: the same. Returns what the whole one said.
Outcome check_resumes(const TempRun& place, const Words& words) {
  const auto whole = place.train(with(words, {"--run-dir", "whole"}));
  REQUIRE_EXIT(whole, 0);
  REQUIRE_EXIT(place.train(with(words, {"--run-dir", "parts", "--max-iter", "30"})), 0);
  REQUIRE_EXIT(place.run({"parts", "--max-iter", "60"}), 0);
  CHECK(end_of(place.path("parts")) == end_of(place.path("whole")));
  return whole;
}

}  // namespace

TEST_CASE("a data set and a schedule of one's own are named as any other") {
  std::string config = tiny_config;
  const std::string shapes = "dataset = \"shapes\"\nsamples = 300\nval_samples = 40\nsize = 16\n";
  config.replace(config.find(shapes), shapes.size(), "dataset = \"stripes\"\ncount = 200\n");
  const TempRun place(with_plugins({"own_parts"}, config + "[[schedule]]\nname = \"halved\"\nafter = 20\n"));
  check_resumes(place, {});
  const auto lines = metrics_of(place.path("whole"), "train");
  for (auto& line : lines)
    CHECK(line.at("lr").get<double>() == doctest::Approx(0.05 * std::pow(0.5, (line.at("iter").get<int>() - 1) / 20)));
  CHECK(metrics_of(place.path("whole"), "val").back().at("accuracy").get<double>() > 0.9);
  REQUIRE_EXIT(place.run({"test", "whole"}), 0);
  REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", "3"}), 0);
  CHECK_PRINTS(place.run({"plan", "tiny.toml"}), "0.05 at first, 0.05 at 16, 0.025 at 31, 0.0125 at last");

  const auto described = place.run({"plugins", plugin_file("own_parts")});
  REQUIRE_EXIT(described, 0);
  CHECK_PRINTS(described,
               "data.dataset = \"stripes\": stripes that lie or stand\n  count              pictures (default 300)");
  CHECK_PRINTS(described, "schedule.name = \"halved\": half as much after each `after`");

  const auto no_such_key = place.train({"--set", "data.samples=3"});
  CHECK_EXIT(no_such_key, 2);
  CHECK_SAYS(no_such_key, "--set: data.samples: the data set 'stripes' has no such key");
}

TEST_CASE("files that are no plugins, and names that are taken, are refused at the key that names the file") {
  const TempRun place;
  std::filesystem::copy_file(plugin_file("own_parts"), place.path("again.so"));
  place.folder().write("text.so", "no shared object");
  for (const auto& [file, says] :
       {std::pair<std::string, std::string>{"nowhere.so", "no such file"},
        {"text.so", "cannot be loaded: "},
        {test::build_path("test_plugins/no_entry.so"), "exports neither flowtrain_plugin nor flowtrain_sampler_plugin"},
        {"again.so", "there is already a data set called 'stripes'"}}) {
    const auto refused = place.train(setting("run.plugins", toml_list({plugin_file("own_parts"), file})));
    CHECK_EXIT(refused, 2);
    CHECK_SAYS(refused, "--set: run.plugins: " + file + ": " + says);
  }
  // One that is there twice is opened once.
  CHECK_EXIT(place.run(with({"config", "tiny.toml"}, opening({"own_parts", "own_parts"}))), 0);
}

TEST_CASE("plugins that compute are described") {
  const TempRun place;
  for (auto& [name, says] :
       std::map<std::string, std::string>{{"own_net", "net.name = \"own_net\": one linear layer"},
                                          {"own_loss", "loss.name = \"own_loss\": "},
                                          {"own_optimizer", "optim.name = \"own_optimizer\": Lion"},
                                          {"own_metric", "metric.name = \"own_metric\": "},
                                          {"flaky", "step.name = \"flaky\": "},
                                          {"every_point", "hook.name = \"every_point\": "}}) {
    const auto described = place.run({"plugins", plugin_file(name)});
    REQUIRE_EXIT(described, 0);
    CHECK_PRINTS(described, says);
  }
  CHECK_PRINTS(place.run({"plugins", plugin_file("own_net")}),
               "  scale              what the logits are multiplied by (default 1.0)");
}

TEST_CASE("a net of one's own trains, resumes and is tested as any other") {
  const TempRun place;
  const Words net = with(of_plugin("net", "own_net"), setting("net.scale", "2.0"));
  CHECK_SAYS(check_resumes(place, net), "own_net: ");
  REQUIRE_EXIT(place.train(with(net, {"--run-dir", "other", "--set", "net.scale=1.0"})), 0);
  CHECK_FALSE(end_of(place.path("other")) == end_of(place.path("whole")));
  REQUIRE_EXIT(place.run({"test", "whole"}), 0);
  REQUIRE_EXIT(place.train(with(net, {"--run-dir", "beside", "--set", "val.mode=async"})), 0);
  CHECK(end_of(place.path("beside")) == end_of(place.path("whole")));
  REQUIRE_EXIT(place.run(with({"info", "tiny.toml"}, net)), 0);
}

TEST_CASE("a detector of one's own has AP, a test, predictions and pictures, and the keys of its entry") {
  const TempRun place(with_plugins({"own_detector"}, boxes_config) +
                      "factor = 0.5\n[net]\nname = \"own_cells\"\n[loss]\nname = \"own_cells\"\n");
  check_detects(place);
  const auto described = place.run({"plugins", plugin_file("own_detector")});
  CHECK_PRINTS(described, "detect.name = \"own_cells\": boxes of a map's cells");
  const auto other = place.train({"--set", "detect.name=boxes"});
  CHECK_EXIT(other, 2);
  CHECK_SAYS(other,
             "--set: detect.name: the detector 'boxes' reads boxes, scores, labels, and the net does not give "
             "'boxes'");
  const auto corners = place.train({"--set", "detect.name=cornernet"});
  CHECK_EXIT(corners, 2);
  CHECK_SAYS(corners, "reads tl_heat, br_heat, tl_tag, br_tag, tl_off, br_off, and the net does not give 'tl_heat'");
}

TEST_CASE("a run whose plugin has moved goes on with the plugin's new place") {
  const TempRun place;
  const auto opened = [](const std::string& file) { return setting("run.plugins", toml_list({file})); };
  std::filesystem::copy_file(plugin_file("own_net"), place.path("old.so"));
  const Words net = setting("net.name", "own_net");
  REQUIRE_EXIT(place.train(with(with(net, opened("old.so")), {"--run-dir", "run", "--max-iter", "20"})), 0);
  std::filesystem::rename(place.path("old.so"), place.path("new.so"));
  CHECK_SAYS(place.run({"run", "--max-iter", "40"}), "run.plugins: old.so: no such file");
  REQUIRE_EXIT(place.run(with({"run", "--max-iter", "40"}, opened("new.so"))), 0);
  const Words again{"--run-dir", "run", "--resume", "auto"};
  REQUIRE_EXIT(place.train(with(with(net, opened("new.so")), again)), 0);
  REQUIRE_EXIT(place.train(with(with(net, opening({"own_net"})), {"--run-dir", "whole"})), 0);
  CHECK(end_of(place.path("run")) == end_of(place.path("whole")));
}

TEST_CASE("a net of one's own logs its metrics: means over the iteration's micro-batches and all processes") {
  const TempRun place;
  const Words net = of_plugin("net", "own_net");
  const auto line_of = [&](const std::string& run, const Words& more) {
    REQUIRE_EXIT(place.train(with(with(net, {"--run-dir", run, "--max-iter", "20"}), more)), 0);
    CHECK(metrics_of(place.path(run), "epoch").front().at("passes") > 0);
    return metrics_of(place.path(run), "train").front();
  };
  const auto one = line_of("one", {});
  REQUIRE(one.at("iter") == 5);
  CHECK(one.at("passes") == 5);
  CHECK(one.at("brightness") != 0);
  CHECK_FALSE(one.contains("loss.passes"));
  CHECK(line_of("halves", {"--set", "train.accum=2"}).at("passes") == 9.5);  // of the ninth and the tenth
  const auto two = line_of("two", {"--distributed", "--world-size", "2"});
  CHECK(two.at("passes") == 5);
  CHECK(two.at("brightness").get<double>() == doctest::Approx(one.at("brightness").get<double>()).epsilon(1e-5));
  const auto refused = place.train(with(net, {"--run-dir", "wide", "--set", "net.wide=true"}));
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "the net's value 'passes' has shape [2], expected a scalar");
}

TEST_CASE("a loss of one's own, and its metrics") {
  const TempRun place;
  const Words loss = of_plugin("loss", "own_loss");
  REQUIRE_EXIT(place.train({"--run-dir", "usual"}), 0);
  REQUIRE_EXIT(place.train(with(loss, {"--run-dir", "own"})), 0);
  CHECK(end_of(place.path("own")) == end_of(place.path("usual")));
  const auto line = metrics_of(place.path("own"), "train").back();
  CHECK(line.at("loss.plain") == line.at("loss"));
  REQUIRE_EXIT(place.train(with(with(loss, setting("loss.factor", "3.0")), {"--run-dir", "scaled"})), 0);
  const auto scaled = metrics_of(place.path("scaled"), "train").front();
  CHECK(scaled.at("loss").get<double>() == doctest::Approx(3 * scaled.at("loss.plain").get<double>()));
  CHECK_FALSE(scaled.contains("plain"));
  CHECK(metrics_of(place.path("scaled"), "epoch").front().at("loss.plain") > 0);
}

TEST_CASE("an optimizer of one's own learns, is called by its name, and its state is in snapshots") {
  const TempRun place;
  const Words lion = with(of_plugin("optim", "own_optimizer"), setting("optim.lr", "0.003"));
  check_resumes(place, lion);
  const auto lines = metrics_of(place.path("whole"), "train");
  CHECK(lines.back().at("loss_avg").get<double>() < lines.front().at("loss").get<double>());
  const auto shown = place.run(with({"info", "tiny.toml"}, lion));
  REQUIRE_EXIT(shown, 0);
  CHECK_PRINTS(shown, "own_optimizer");
  // Its momentum is the key that its entry says.
  REQUIRE_EXIT(place.train(with(with(lion, setting("optim.momentum", "0.5")), {"--run-dir", "less"})), 0);
  CHECK_FALSE(end_of(place.path("less")) == end_of(place.path("whole")));
}

TEST_CASE("a metric of one's own, over one process and two") {
  const TempRun place(with_plugins(
      {"own_metric"}, std::string(tiny_config) + "[[metric]]\nname = \"own_metric\"\nlabel = \"mine\"\nlargest = 2\n"));
  const Words asked = setting("val.metrics", "[\"mine\", \"top2\"]");
  REQUIRE_EXIT(place.train(with(asked, {"--run-dir", "one"})), 0);
  for (auto& line : metrics_of(place.path("one"), "val")) CHECK(line.at("mine") == line.at("top2"));
  REQUIRE_EXIT(place.train(with(asked, {"--run-dir", "two", "--distributed", "--world-size", "2"})), 0);
  for (auto& line : metrics_of(place.path("two"), "val")) CHECK(line.at("mine") == line.at("top2"));
  const auto tested = place.run({"test", "one"});
  REQUIRE_EXIT(tested, 0);
  CHECK_PRINTS(tested, "\"mine\":");
  const auto unused = place.train({"--run-dir", "unused", "--max-iter", "2"});
  CHECK_EXIT(unused, 0);
  CHECK_SAYS(unused, "is not measured: 'mine' is not among val.metrics (default)");

  // By its name alone it has its default keys.
  const TempRun named;
  const Words plain = with(opening({"own_metric"}), setting("val.metrics", "[\"own_metric\", \"top1\"]"));
  REQUIRE_EXIT(named.train(with(plain, {"--run-dir", "named"})), 0);
  for (auto& line : metrics_of(named.path("named"), "val")) CHECK(line.at("own_metric") == line.at("top1"));
}

TEST_CASE("a part in another's place, or with a key that it has not, is refused at its place") {
  const TempRun place;
  const auto refused = [&](const Words& words, const std::string& reason) {
    const auto outcome = place.train(with(words, {"--run-dir", "refused"}));
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, reason);
    CHECK_FALSE(std::filesystem::exists(place.path("refused")));
  };
  refused(of_plugin("net", "own_loss"), "net.name: no net is called 'own_loss'");
  refused(of_plugin("loss", "own_net"), "loss.name: no loss is called 'own_net'");
  refused(of_plugin("optim", "own_metric"), "optim.name: no optimizer is called 'own_metric'");
  refused(with(of_plugin("loss", "own_loss"), setting("loss.faktor", "2.0")),
          "unknown key 'loss.faktor'; did you mean 'loss.factor'?");
  refused(with(opening({"own_loss"}), setting("loss.factor", "2.0")),
          "loss.factor: the loss 'cross_entropy' has no such key");
  refused(setting("net.name", "own_net"), "net.name: no net is called 'own_net'");  // the plugin is not opened
}

TEST_CASE("a plugin with a key that its table has already is refused with the key's name") {
  const TempRun place;
  const auto outcome = place.train(with(opening({"taken_key"}), {"--run-dir", "refused"}));
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "taken_key.so: the key 'priority' of its hook 'taken_key' is one that the table has already");
  CHECK_FALSE(std::filesystem::exists(place.path("refused")));
}

}  // namespace flowtrain::own_parts_test
