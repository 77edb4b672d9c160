#include "pipeline/base/snapshot/rename.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"

namespace flowtrain::rename_test {

namespace {

using Names = std::vector<std::string>;

Names renamed(const Names& names, const Names& drop, const Names& rename) {
  std::vector<TensorView> tensors;
  for (auto& name : names) tensors.push_back({name, "F32", {}, nullptr, 0});
  Names left;
  for (auto& tensor : Renaming(drop, rename)(tensors)) left.push_back(tensor.name);
  return left;
}

std::string refusal(const Names& names, const Names& drop, const Names& rename) {
  try {
    renamed(names, drop, rename);
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("names are changed rule by rule, and left out by their new ones") {
  CHECK(renamed({"a.w", "b.w"}, {}, {}) == Names{"a.w", "b.w"});
  CHECK(renamed({"a.w", "b.w"}, {}, {"^a -> c", R"(^(b|c)\. -> net.$1.)"}) == Names{"net.c.w", "net.b.w"});
  CHECK(renamed({"a.w", "b.w"}, {"^c"}, {"^a -> c"}) == Names{"b.w"});
}

TEST_CASE("the first CornerNet's names become those of CornerNet-Lite") {
  CHECK(renamed({"pre.0.conv.weight", "kps.1.up1.0.conv1.weight", "inters_.0.0.weight", "cnvs.0.bn.bias",
                 "tl_cnvs.0.conv1.weight", "br_regrs.1.1.bias", "tl_heats.0.1.bias"},
                {}, {"cornernet"}) == Names{"hg.pre.0.conv.weight", "hg.hgs.1.up1.0.conv1.weight",
                                            "hg.inters_.0.0.weight", "hg.cnvs.0.bn.bias", "tl_modules.0.conv1.weight",
                                            "br_offs.1.1.bias", "tl_heats.0.1.bias"});
}

TEST_CASE("rules that are none, that meet nothing, or that make two of one name") {
  CHECK(refusal({"a"}, {}, {"a => b"}) == "'a => b': no rule for names");
  CHECK(refusal({"a"}, {}, {"( -> b"}).starts_with("'( -> b': not a regular expression: "));
  CHECK(refusal({"a"}, {}, {"a -> $5"}) == "'a -> $5': cannot be used on 'a': unknown substring");
  const std::string name = std::string(60, 'a') + ".b";
  CHECK(refusal({name}, {"(a|aa|a?)+$"}, {}) == "'(a|aa|a?)+$': takes more than 100000 steps to search '" + name + "'");
  CHECK(refusal({"a"}, {"^b"}, {}) == "'^b': no tensor has such a name");
  CHECK(refusal({"a", "b"}, {}, {"a -> b"}) == "two tensors get the name 'b'");
}

}  // namespace flowtrain::rename_test
