#include "base/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

YamlNode MustParse(std::string_view text) {
  auto node = YamlNode::Parse(text, "space.yaml");
  EXPECT_TRUE(node.ok()) << node.status().message();
  return node.ok() ? *node : *YamlNode::Parse("", "");
}

TEST(YamlTest, NodesKnowTheirLines) {
  const YamlNode root = MustParse("# comment\nname: x\nlist:\n  - 1\n  - 2\n");
  EXPECT_EQ(root.line(), 2);
  const YamlNode list = *root.Get("list");
  EXPECT_EQ(list.items()[1].where(), "space.yaml:5");
  EXPECT_EQ(list.items()[1].Error("too big").message(), "space.yaml:5: too big");
}

TEST(YamlTest, SyntaxErrorsNameTheLine) {
  EXPECT_THAT(YamlNode::Parse("a: 1\nb: [1, 2\n", "space.yaml").status().message(),
              StartsWith("space.yaml:3: not valid YAML: "));
  EXPECT_THAT(YamlNode::Parse("a: 1\n  b: 2\n", "s").status().message(), StartsWith("s:2: "));
}

TEST(YamlTest, RefusesWhatWouldBeReadWrongly) {
  EXPECT_EQ(YamlNode::Parse("a: 1\nb: 2\na: 3\n", "s").status().message(), "s:3: key 'a' stands here twice");
  EXPECT_THAT(YamlNode::Parse("? [1]\n: 2\n", "s").status().message(), HasSubstr("a key must be a plain value"));
  EXPECT_THAT(YamlNode::Parse("a: &x [*x]\n", "s").status().message(), HasSubstr("contains itself"));
}

TEST(YamlTest, AliasBombIsRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  EXPECT_FALSE(YamlNode::Parse(text, "s").ok());
}

TEST(YamlTest, UnknownKeyIsNamedWithLineAndSuggestion) {
  const YamlNode root = MustParse("experiments: []\nentityspce: []\n");
  EXPECT_EQ(root.CheckKeys({"experiments", "entitySpace"}).message(),
            "space.yaml:2: unknown key 'entityspce' (did you mean 'entitySpace'?)");
  EXPECT_TRUE(root.CheckKeys({"experiments", "entityspce"}).ok());
  EXPECT_EQ(MustParse("- 1").CheckKeys({"a"}).message(), "space.yaml:1: expected a map, not a list");
}

TEST(YamlTest, GetsByKey) {
  const YamlNode root = MustParse("a: 1\nb:\n");
  EXPECT_TRUE(root.Has("a"));
  EXPECT_FALSE(root.Has("c"));
  EXPECT_TRUE(root.Get("b")->IsNull());
  EXPECT_EQ(root.Get("c").status().message(), "space.yaml:1: key 'c' is missing");
  EXPECT_EQ(root.Get("a")->Get("x").status().message(), "space.yaml:1: expected a map with the key 'x', not '1'");
  EXPECT_EQ(root.entries()[1].first, "b");
}

TEST(YamlTest, ASecondDocumentIsRefused) {
  EXPECT_EQ(*MustParse("---\na: 1\n...\n").Get("a")->AsInteger(), 1);
  EXPECT_TRUE(MustParse("").IsNull());
  EXPECT_EQ(YamlNode::Parse("a: 1\n---\na: 2\n", "space.yaml").status().message(),
            "space.yaml:2: a second document begins here: put each in a file of its own");
  EXPECT_THAT(YamlNode::Parse("a: 1\n...\n# not yet\nb: 2\n", "s").status().message(), StartsWith("s:4: a second"));
  EXPECT_EQ(*MustParse("\xef\xbb\xbf# comment\n---\na: 1\n... # the end\n\n").Get("a")->AsInteger(), 1);
  EXPECT_EQ(*MustParse("a: |\n  ...\n  text\n").Get("a")->AsText(), "...\ntext\n");
}

TEST(YamlTest, ReadsScalars) {
  const YamlNode root = MustParse("i: -12\nx: 0x1F\nf: 1e-5\nb: True\ns: hello\nq: '7'\nbig: 9223372036854775808\n");
  EXPECT_EQ(*root.Get("i")->AsInteger(), -12);
  EXPECT_EQ(*root.Get("x")->AsInteger(), 31);
  EXPECT_EQ(*root.Get("f")->AsNumber(), 1e-5);
  EXPECT_EQ(*root.Get("i")->AsNumber(), -12);
  EXPECT_EQ(*root.Get("s")->AsText(), "hello");
  EXPECT_EQ(*root.Get("i")->AsText(), "-12");
  EXPECT_EQ(*root.Get("q")->AsText(), "7");
  EXPECT_EQ(root.Get("q")->AsInteger().status().message(), "space.yaml:6: expected an integer, not '7'");
  EXPECT_FALSE(root.Get("f")->AsInteger().ok());
  EXPECT_FALSE(root.Get("big")->AsInteger().ok());
  EXPECT_EQ(root.Get("s")->AsNumber().status().message(), "space.yaml:5: expected a number, not 'hello'");
  EXPECT_EQ(root.AsText().status().message(), "space.yaml:1: expected a text, not a map");
}

TEST(YamlTest, ConvertsByTheCoreSchema) {
  const YamlNode root = MustParse(R"(
- [null, ~, None, "null", '']
- [true, False, "true", yes]
- [1, -1, +1, 007, 0o17, 0x10, 1_000]
- [1.5, .5, 5., 1e3, -2.5E-1, .inf, "1.5", 1.2.3]
- a:
    b: |
      text
)");
  const nlohmann::json json = root.ToJson();
  EXPECT_EQ(json[0].dump(), R"([null,null,null,"null",""])");
  EXPECT_EQ(json[1].dump(), R"([true,false,"true","yes"])");
  EXPECT_EQ(json[2].dump(), R"([1,-1,1,7,15,16,"1_000"])");
  EXPECT_EQ(json[3][0], 1.5);
  EXPECT_EQ(json[3][1], 0.5);
  EXPECT_EQ(json[3][2], 5.0);
  EXPECT_EQ(json[3][3], 1000.0);
  EXPECT_EQ(json[3][4], -0.25);
  EXPECT_TRUE(std::isinf(json[3][5].get<double>()));
  EXPECT_EQ(json[3][6], "1.5");
  EXPECT_EQ(json[3][7], "1.2.3");
  EXPECT_EQ(json[4]["a"]["b"], "text\n");
}

TEST(YamlTest, ReadsAFile) {
  auto folder = TemporaryDirectory::Create("assay-yaml-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/space.yaml";
  EXPECT_EQ(YamlNode::ReadFile(path).status().code(), ErrorCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(path, "a: 1\n").ok());
  const auto root = YamlNode::ReadFile(path);
  ASSERT_TRUE(root.ok());
  EXPECT_THAT(root->entries(), ::testing::SizeIs(1));
  EXPECT_EQ(root->where(), path + ":1");
}

TEST(YamlTest, EmptyTextIsNull) {
  EXPECT_TRUE(MustParse("").IsNull());
  EXPECT_EQ(MustParse("").line(), 1);
  EXPECT_THAT(MustParse("").items(), ElementsAre());
}

TEST(YamlTest, NodesOutliveTheirParents) {
  const YamlNode leaf = *MustParse("a: {b: [1, 2]}").Get("a")->Get("b");
  EXPECT_EQ(leaf.ToJson().dump(), "[1,2]");
}

}  // namespace
}  // namespace assay
