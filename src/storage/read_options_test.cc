#include "storage/read_options.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string_view>

#include "storage/s3/s3_kind.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

VariableLookup Variables(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(StoreOptions, ReadsTheStoresOwnVariables) {
  const auto s3 = StoreOptionsFromEnvironment("s3", Variables({{"AWS_ENDPOINT_URL", "http://all"},
                                                               {"AWS_ENDPOINT_URL_S3", "http://s3"},
                                                               {"AWS_DEFAULT_REGION", "eu-west-1"},
                                                               {"AWS_CA_BUNDLE", "/ca.pem"},
                                                               {"AWS_MAX_ATTEMPTS", "3"},
                                                               {"STORAGE_EMULATOR_HOST", "other"}}));
  ASSERT_TRUE(s3.ok()) << s3.status().message();
  EXPECT_EQ(s3->endpoint, "http://s3");
  EXPECT_EQ(s3->region, "eu-west-1");
  EXPECT_EQ(s3->ca_file, "/ca.pem");
  EXPECT_EQ(s3->max_attempts, 3);
  const auto gs = StoreOptionsFromEnvironment(
      "gs",
      Variables({{"STORAGE_EMULATOR_HOST", "localhost:4443"}, {"GOOGLE_CLOUD_PROJECT", "p"}, {"AWS_REGION", "x"}}));
  ASSERT_TRUE(gs.ok());
  EXPECT_EQ(gs->endpoint, "localhost:4443");
  EXPECT_EQ(gs->Own("project"), "p");
  EXPECT_EQ(gs->region, "");
  const auto oci = StoreOptionsFromEnvironment(
      "oci", Variables({{"OCI_CLI_REGION", "us-ashburn-1"}, {"OCI_CLI_COMPARTMENT_ID", "ocid1.c"}}));
  ASSERT_TRUE(oci.ok());
  EXPECT_EQ(oci->region, "us-ashburn-1");
  EXPECT_EQ(oci->Own("compartment"), "ocid1.c");
}

TEST(StoreOptions, LetsOwnVariablesWinOverTheStores) {
  const auto options = StoreOptionsFromEnvironment("s3", Variables({{"AWS_REGION", "eu-west-1"},
                                                                    {"ASSAY_STORAGE_REGION", "us-east-2"},
                                                                    {"ASSAY_STORAGE_PART_BYTES", "16MiB"},
                                                                    {"ASSAY_STORAGE_ANONYMOUS", "1"},
                                                                    {"ASSAY_STORAGE_VIRTUAL_HOST_STYLE", "false"},
                                                                    {"ASSAY_STORAGE_DEADLINE_SECONDS", "1.5"}}));
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->region, "us-east-2");
  EXPECT_EQ(options->part_bytes, 16 << 20);
  EXPECT_TRUE(options->anonymous);
  EXPECT_EQ(options->OwnSwitch("virtual_host_style"), false);
  EXPECT_EQ(options->deadline_seconds, 1.5);
}

TEST(StoreOptions, NamesTheVariableThatCannotBeRead) {
  const std::pair<std::string, std::string> bad[] = {
      {"ASSAY_STORAGE_CONNECTIONS", "many"},           {"ASSAY_STORAGE_CONNECTIONS", "-1"},
      {"ASSAY_STORAGE_PART_BYTES", "16 apples"},       {"ASSAY_STORAGE_VERIFY_TLS", "perhaps"},
      {"ASSAY_STORAGE_CONDITIONAL_WRITES", "perhaps"}, {"ASSAY_STORAGE_DEADLINE_SECONDS", "nan"}};
  for (const auto& [name, value] : bad) {
    const auto options = StoreOptionsFromEnvironment("s3", Variables({{name, value}}));
    ASSERT_FALSE(options.ok()) << name;
    EXPECT_EQ(options.status().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(options.status().message(), HasSubstr("cannot use " + name + "='" + value + "'"));
  }
}

TEST(StoreOptions, ReadsWhetherConditionsAreKept) {
  EXPECT_EQ(S3OptionsOf({}).conditional_writes, ConditionalWrites::kAuto);
  const std::pair<std::string, ConditionalWrites> words[] = {{"auto", ConditionalWrites::kAuto},
                                                             {"yes", ConditionalWrites::kYes},
                                                             {"true", ConditionalWrites::kYes},
                                                             {"no", ConditionalWrites::kNo},
                                                             {"false", ConditionalWrites::kNo}};
  for (const auto& [word, expected] : words) {
    StoreOptions options;
    ASSERT_TRUE(ParseStoreOptions("conditional_writes: " + word, "store.yaml", "s3", options).ok()) << word;
    EXPECT_EQ(S3OptionsOf(options).conditional_writes, expected) << word;
  }
}

TEST(StoreOptions, ReadsYamlForAllStoresAndForOne) {
  constexpr std::string_view kText =
      "part_bytes: 8MiB\nconnections: 32\nanonymous: true\n"
      "s3:\n  endpoint: http://127.0.0.1:9000\n  connections: 4\n"
      "gs:\n  project: p\n";
  StoreOptions s3;
  ASSERT_TRUE(ParseStoreOptions(kText, "store.yaml", "s3", s3).ok());
  EXPECT_EQ(s3.endpoint, "http://127.0.0.1:9000");
  EXPECT_EQ(s3.connections, 4);
  EXPECT_EQ(s3.part_bytes, 8 << 20);
  EXPECT_TRUE(s3.anonymous);
  StoreOptions gs;
  ASSERT_TRUE(ParseStoreOptions(kText, "store.yaml", "gs", gs).ok());
  EXPECT_EQ(gs.connections, 32);
  EXPECT_EQ(gs.Own("project"), "p");
  EXPECT_EQ(gs.endpoint, "");
}

TEST(StoreOptions, NamesTheLineAndTheNearestKey) {
  const auto error = [](std::string_view text) {
    StoreOptions options;
    return ParseStoreOptions(text, "store.yaml", "s3", options).message();
  };
  EXPECT_THAT(error("part_bytes: 1\nconections: 3\n"),
              testing::AllOf(HasSubstr("store.yaml:2"), HasSubstr("connections")));
  EXPECT_THAT(error("gs:\n  endpont: x\n"), testing::AllOf(HasSubstr("store.yaml:2"), HasSubstr("endpoint")));
  EXPECT_THAT(error("gs:\n  connections: x\n"), HasSubstr("store.yaml:2"));
  EXPECT_THAT(error("gs:\n  compartment: x\n"), HasSubstr("store.yaml:2"));
  EXPECT_THAT(error("conditional_writes: perhaps\n"), HasSubstr("one of auto, yes, no is expected"));
  EXPECT_THAT(error("verify_tls: maybe\n"),
              HasSubstr("store.yaml:1: verify_tls is 'maybe': true or false is expected"));
  EXPECT_THAT(error("- a\n"), HasSubstr("a map of options is expected"));
  EXPECT_THAT(error("s3: fast\n"), HasSubstr("s3 must be a map"));
  EXPECT_NE(error("endpoint:\n  s3: x\n"), "");
  EXPECT_EQ(error("endpoint:\n"), "");
}

TEST(StoreOptions, PutsTheFileOverTheEnvironment) {
  const auto options = LoadStoreOptions("s3", "", Variables({{"ASSAY_STORAGE_OPTIONS", "/nowhere/store.yaml"}}));
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.status().message(), HasSubstr("/nowhere/store.yaml"));
}

// What one kind of store has beside the others' is called otherwise.
TEST(StoreOptions, HaveNamesOfTheirOwn) {
  std::set<std::string_view> keys;
  std::set<std::string_view> variables;
  for (const OptionName& name : StoreOptionNames()) {
    EXPECT_TRUE(keys.insert(name.key).second) << name.key;
    EXPECT_TRUE(variables.insert(name.variable).second) << name.variable;
  }
  EXPECT_TRUE(keys.contains("part_bytes") && keys.contains("mirrors"));
}

}  // namespace
}  // namespace assay::storage
