#pragma once
// Nodes with a network between them: Linux network namespaces, each with an end of a cable (veth) that leads to a
// switch (bridge) in another one.

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program/ranks.h"

namespace flowtrain {

class Network {
 public:
  explicit Network(int nodes) : prefix_("ft" + std::to_string(::getpid()) + "-") {
    made_ = ip("netns add " + hub()) && ip("-n " + hub() + " link add switch type bridge") &&
            ip("-n " + hub() + " link set switch up");
    for (int i = 0; i < nodes && made_; ++i) {
      names_.push_back(prefix_ + std::to_string(i));
      const std::string& node = names_.back();
      made_ = ip("netns add " + node) &&
              ip("link add eth0 netns " + node + " type veth peer name " + port(i) + " netns " + hub()) &&
              ip("-n " + hub() + " link set " + port(i) + " master switch up") &&
              ip("-n " + node + " addr add " + address(i) + "/24 dev eth0") && ip("-n " + node + " link set eth0 up") &&
              ip("-n " + node + " link set lo up");
    }
  }
  ~Network() {
    for (auto& name : names_) ip("netns del " + name);
    ip("netns del " + hub());
  }
  Network(const Network&) = delete;

  /// False where this user, or this machine, may not make such a network.
  bool is_made() const { return made_; }
  const std::string& node(int i) const { return names_.at(static_cast<std::size_t>(i)); }
  static std::string address(int i) { return "10.77.0." + std::to_string(i + 1); }
  void cut(int i) const { REQUIRE(ip("-n " + hub() + " link set " + port(i) + " down")); }
  /// What node i sends goes out at this rate ("4mbit"), as through a link that others fill, or not at all slowed ("").
  bool limit(int i, const std::string& rate) const {
    const std::string at = "tc -n " + node(i) + " qdisc ";
    return run(rate.empty() ? at + "del dev eth0 root"
                            : at + "add dev eth0 root tbf rate " + rate + " burst 16kb latency 300ms");
  }
  void mend(int i) const { REQUIRE(ip("-n " + hub() + " link set " + port(i) + " up")); }

 private:
  static bool run(const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; }
  static bool ip(const std::string& words) { return run("ip " + words); }
  static std::string port(int i) { return "port" + std::to_string(i); }
  std::string hub() const { return prefix_ + "hub"; }

  std::string prefix_;
  std::vector<std::string> names_;
  bool made_ = false;
};

/// A job with one rank on each node of a network, started by hand as a user does: once per node.
class Job {
 public:
  Job(const TempRun& place, const Network& network, int nodes, const std::string& run, const Words& more)
      : run_(run), metrics_(place.path(run) / "metrics.jsonl") {
    for (int i = 0; i < nodes; ++i) {
      auto where = place.process_options();
      where.network = network.node(i);
      const Words words{"tiny.toml",    "--distributed",
                        "--world-size", std::to_string(nodes),
                        "--rank",       std::to_string(i),
                        "--nproc",      "1",
                        "--dist-url",   "tcp://" + Network::address(0) + ":29500",
                        "--run-dir",    run};
      nodes_.push_back(std::make_unique<Process>(with(with(words, smooth), more), where));
    }
  }

  /// Until there is a first snapshot.
  void wait_for_training() const { REQUIRE(nodes_.front()->wait_for_text("\"snapshot\"", metrics_)); }
  /// To a rank's process. Throws where that has ended, with what the node's launcher said.
  void send(int rank, int signal) const {
    try {
      ::kill(rank_process(run_, rank), signal);
    } catch (const std::exception& error) {
      std::ostringstream text;
      text << error.what() << ": " << nodes_.at(static_cast<std::size_t>(rank))->wait(30);
      throw std::runtime_error(text.str());
    }
  }

  /// How the nodes' processes ended; those that have not after `limit_s` count as hanging.
  std::vector<Outcome> wait(double limit_s = 600) const {
    std::vector<Outcome> ends;
    for (auto& node : nodes_) ends.push_back(node->wait(limit_s));
    return ends;
  }

 private:
  std::string run_;
  fs::path metrics_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

}  // namespace flowtrain
