#include "space/discovery_space.h"

#include <gmock/gmock.h>

#include <set>

namespace assay::space {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kHelloWorld[] = R"(sampleStoreIdentifier: default
entitySpace:
 - {identifier: model_name, propertyDomain: {values: [smollm2-135m]}}
 - {identifier: number_gpus, propertyDomain: {values: [0]}}
 - {identifier: model_max_length, propertyDomain: {values: [512, 1024]}}
 - {identifier: batch_size, propertyDomain: {domainRange: [1,3], interval: 1}}
experiments:
 - {actuatorIdentifier: SFTTrainer, experimentIdentifier: finetune_full_benchmark-v1.0.0,
    parameterization: [{property: {identifier: stop_after_seconds}, value: 30}, {property: {identifier: flash_attn}, value: False}]}
metadata: {name: hello, labels: {issue: "12"}}
)";

std::string ErrorOf(const std::string& text) {
  const auto space = ParseDiscoverySpace(text, "space.yaml");
  return space.ok() ? "no error" : space.status().message();
}

/// A space whose first property has the given domain.
std::string SpaceWithDomain(const std::string& domain) {
  return "entitySpace:\n - identifier: a\n   propertyDomain: " + domain +
         "\nexperiments:\n - experimentIdentifier: e\n";
}

TEST(DiscoverySpaceTest, ReadsTheReferenceForm) {
  const auto space = ParseDiscoverySpace(kHelloWorld, "space.yaml");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->sample_store, "default");
  EXPECT_EQ(space->name, "hello");
  EXPECT_EQ(space->labels.at("issue"), "12");
  ASSERT_EQ(space->properties.size(), 4U);
  EXPECT_EQ(space->properties[3].where, "space.yaml:6");
  ASSERT_EQ(space->experiments.size(), 1U);
  EXPECT_EQ(space->experiments[0].actuator, "SFTTrainer");
  EXPECT_EQ(space->experiments[0].parameterization.at("stop_after_seconds"), Value(int64_t{30}));
  EXPECT_EQ(space->experiments[0].parameterization.at("flash_attn"), Value(false));
  EXPECT_EQ(space->experiments[0].parameter_where.at("flash_attn"), "space.yaml:9");
}

TEST(DiscoverySpaceTest, EnumeratesTheGridLastPropertyFastest) {
  const auto space = ParseDiscoverySpace(kHelloWorld, "space.yaml");
  ASSERT_TRUE(space.ok());
  ASSERT_EQ(*space->PointCount(), 4);
  EXPECT_EQ(EntityId(space->Point(0)), "batch_size.1-model_max_length.512-model_name.smollm2-135m-number_gpus.0");
  EXPECT_EQ(EntityId(space->Point(1)), "batch_size.2-model_max_length.512-model_name.smollm2-135m-number_gpus.0");
  EXPECT_EQ(EntityId(space->Point(2)), "batch_size.1-model_max_length.1024-model_name.smollm2-135m-number_gpus.0");
  std::set<std::string> ids;
  for (int64_t index = 0; index < 4; ++index) {
    ids.insert(EntityId(space->Point(index)));
  }
  EXPECT_EQ(ids.size(), 4U);
}

TEST(DiscoverySpaceTest, ListsBecomeOneText) {
  const auto space = ParseDiscoverySpace(SpaceWithDomain("{values: [None, [True, True, False]]}"), "s");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->properties[0].domain.At(0), Value());
  EXPECT_EQ(space->properties[0].domain.At(1), Value(std::string("True,True,False")));
}

TEST(DiscoverySpaceTest, ABinaryTypeNeedsNoValues) {
  const auto space = ParseDiscoverySpace(SpaceWithDomain("{variableType: BINARY_VARIABLE_TYPE}"), "s");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(*space->PointCount(), 2);
}

TEST(DiscoverySpaceTest, NamesTheLineAndTheNearestKnownKey) {
  EXPECT_EQ(ErrorOf("entitySpace: []\nexperimnts: []\n"),
            "space.yaml:2: unknown key 'experimnts' (did you mean 'experiments'?)");
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{valuess: [1]}")),
              AllOf(StartsWith("space.yaml:3: "), HasSubstr("did you mean 'values'?")));
}

TEST(DiscoverySpaceTest, NamesTheLineOfEachMistake) {
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{values: []}")), StartsWith("space.yaml:3: 'values' must be a list"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{domainRange: [1]}")), StartsWith("space.yaml:3: 'domainRange' must be"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{domainRange: [3, 1]}")), StartsWith("space.yaml:3: the range [3, 1) is empty"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{domainRange: [1, x]}")), StartsWith("space.yaml:3: expected a number"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{}")), StartsWith("space.yaml:3: a propertyDomain needs"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{values: [1], interval: 2}")), HasSubstr("not both"));
  EXPECT_THAT(ErrorOf(SpaceWithDomain("{values: [a], variableType: CONTINUOUS_VARIABLE_TYPE}")),
              HasSubstr("does not fit {a}"));
  EXPECT_THAT(ErrorOf("entitySpace: [\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(ErrorOf("- 1\n"), StartsWith("space.yaml:1: expected a map"));
  EXPECT_THAT(ErrorOf("experiments: [{experimentIdentifier: e}]\n"), HasSubstr("'entitySpace' is missing"));
}

TEST(DiscoverySpaceTest, RefusesAPropertyThatStandsTwice) {
  const std::string entity_space = "entitySpace:\n - {identifier: a, propertyDomain: {values: [1]}}\n";
  EXPECT_THAT(ErrorOf(entity_space + " - {identifier: a, propertyDomain: {values: [2]}}\nexperiments: []\n"),
              HasSubstr("twice (first at space.yaml:2)"));
  EXPECT_EQ(ErrorOf(entity_space + "experiments:\n - experimentIdentifier: e\n   parameterization:\n"
                                   "   - {property: {identifier: a}, value: 3}\n"),
            "space.yaml:6: 'a' stands in this parameterization and in entitySpace (space.yaml:2): give it in one of "
            "the two");
}

TEST(DiscoverySpaceTest, CountsOnlyWhatCanBeEnumerated) {
  const auto continuous = ParseDiscoverySpace(SpaceWithDomain("{domainRange: [0, 1]}"), "s");
  ASSERT_TRUE(continuous.ok());
  EXPECT_THAT(continuous->PointCount().status().message(), HasSubstr("cannot be enumerated"));
  auto huge = *continuous;
  huge.properties.assign(4, Property{"p", *Domain::Range(0, 1e18, 1), "s:1"});
  EXPECT_THAT(huge.PointCount().status().message(), HasSubstr("more than 2^62 points"));
}

TEST(DiscoverySpaceTest, ReadsTheProjectsOwnSpaces) {
  EXPECT_TRUE(ReadDiscoverySpace(ASSAY_SOURCE_DIR "/share/demo/space.yaml").ok());
  EXPECT_EQ(ReadDiscoverySpace("/nonexistent/space.yaml").status().code(), ErrorCode::kNotFound);
}

Result<Repeats> RepeatsOf(const std::string& yaml) {
  ASSAY_ASSIGN_OR_RETURN(const DiscoverySpace space,
                         ParseDiscoverySpace("entitySpace:\n"
                                             " - {identifier: a, propertyDomain: {values: [1]}}\n"
                                             "experiments:\n"
                                             " - {experimentIdentifier: e}\n" +
                                                 yaml,
                                             "space.yaml"));
  return space.repeats;
}

TEST(RepeatsTest, AreANumberOrEndWithANarrowInterval) {
  EXPECT_EQ(RepeatsOf("")->at_most, 0);
  EXPECT_EQ(RepeatsOf("repeats: 5\n")->at_most, 5);
  EXPECT_EQ(RepeatsOf("repeats: 5\n")->interval, 0);
  const Repeats until = *RepeatsOf("repeats: {until: {interval: 5%, target: speed, at_most: 12}}\n");
  EXPECT_EQ(until.at_most, 12);
  EXPECT_DOUBLE_EQ(until.interval, 0.05);
  EXPECT_EQ(until.target, "speed");
  EXPECT_DOUBLE_EQ(RepeatsOf("repeats: {until: {interval: 0.05}}\n")->interval, 0.05);
}

TEST(RepeatsTest, MistakesNameTheLine) {
  for (const char* yaml :
       {"repeats: 0\n", "repeats: many\n", "repeats: {until: {interval: 500%}}\n",
        "repeats: {until: {interval: -5%}}\n", "repeats: {until: {interval: nan}}\n", "repeats: {until: {width: 5%}}\n",
        "repeats: {until: {at_most: 5}}\n", "repeats: {until: {interval: 5%, at_most: 1001}}\n"}) {
    const Result<Repeats> repeats = RepeatsOf(yaml);
    ASSERT_FALSE(repeats.ok()) << yaml;
    EXPECT_THAT(repeats.status().message(), testing::HasSubstr("space.yaml:5: ")) << yaml;
  }
}

}  // namespace
}  // namespace assay::space
