#include "data/model_catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "architecture/families.h"
#include "base/files.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kShare = ASSAY_SOURCE_DIR "/share";
// What the user of this machine has fetched is nothing to these tests.
const bool kNoHub = ::setenv("HF_HUB_CACHE", "/nonexistent", 1) == 0;

TEST(ModelCatalogue, HasTheReferencesNamesSorted) {
  const auto models = ModelCatalogue();
  EXPECT_TRUE(std::ranges::is_sorted(models, {}, &CatalogueModel::name));
  EXPECT_EQ(std::ranges::count(models, true, &CatalogueModel::in_reference), 36);
}

TEST(ModelCatalogue, EveryNameResolvesOrSaysWhyNot) {
  for (const CatalogueModel& model : ModelCatalogue()) {
    const auto ref = ResolveModel(std::string(model.name), kShare);
    ASSERT_EQ(ref.ok(), model.status == ModelStatus::kAvailable) << model.name << ": " << ref.status().message();
    if (ref.ok()) {
      EXPECT_EQ(ref->family, model.family);
      EXPECT_FALSE(ref->has_weights);
      EXPECT_GE(ref->vocab_size, 32000);
      EXPECT_EQ(ref->tokenizer_dir, kShare + "/tokenizers/assay-8k");
    } else {
      EXPECT_EQ(ref.status().code(), ErrorCode::kUnsupported);
      EXPECT_THAT(ref.status().message(),
                  AllOf(HasSubstr(std::string(model.name) + " is known, but"), Not(HasSubstr("\n"))));
    }
  }
}

TEST(ModelCatalogue, ANameHasItsWeightsWhereTheyWereFetched) {
  ASSERT_TRUE(kNoHub);
  const auto cache = TemporaryDirectory::Create("hub").value();
  const std::string folder = cache.path() + "/models--HuggingFaceTB--SmolLM2-135M";
  ASSERT_TRUE(MakeDirectories(folder + "/snapshots/abc").ok());
  ASSERT_TRUE(MakeDirectories(folder + "/refs").ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/refs/main", "abc").ok());
  const std::string config = ReadFile(kShare + "/models/smollm2-135m/config.json").value();
  ASSERT_TRUE(WriteFileAtomically(folder + "/snapshots/abc/config.json", config).ok());
  ::setenv("HF_HUB_CACHE", cache.path().c_str(), 1);
  EXPECT_FALSE(ResolveModel("smollm2-135m", kShare)->has_weights) << "a configuration alone stands for no model";
  ASSERT_TRUE(WriteFileAtomically(folder + "/snapshots/abc/model.safetensors", "x").ok());
  for (const char* name : {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M"}) {
    const auto ref = ResolveModel(name, kShare);
    ASSERT_TRUE(ref.ok()) << ref.status().message();
    EXPECT_EQ(ref->name, name);
    EXPECT_EQ(ref->dir, folder + "/snapshots/abc");
    EXPECT_TRUE(ref->has_weights);
  }
  ::setenv("HF_HUB_CACHE", "/nonexistent", 1);
}

TEST(ModelCatalogue, AnUnsupportedFamilyIsNamed) {
  EXPECT_EQ(ResolveModel("granite-vision-3.2-2b", kShare).status().message(),
            fmt::format("granite-vision-3.2-2b is known, but its family llava_next is not supported yet; supported "
                        "families: {}",
                        fmt::join(architecture::FamilyNames(), ", ")));
}

TEST(ModelCatalogue, UnknownNamesAndFoldersAreOneLine) {
  EXPECT_THAT(ResolveModel("smollm2-153m", kShare).status().message(), HasSubstr("did you mean 'smollm2-135m'?"));
  EXPECT_THAT(ResolveModel("/nonexistent/model", kShare).status().message(),
              HasSubstr("no model folder /nonexistent/model"));
  EXPECT_THAT(ResolveModel(kShare, kShare).status().message(), HasSubstr("has no config.json"));
  EXPECT_THAT(ResolveModel(kShare + "/corpus/README.md", kShare).status().message(), HasSubstr("is a file"));
}

TEST(ModelCatalogue, LoraTargetsFollowTheReference) {
  EXPECT_THAT(DefaultLoraTargets("smollm2-135m"), ElementsAre("q_proj", "v_proj"));
  EXPECT_THAT(DefaultLoraTargets("llama3-8b"), ElementsAre("q_proj", "k_proj"));
  EXPECT_THAT(DefaultLoraTargets("granite-20b-v2"), ElementsAre("c_attn", "c_proj"));
  EXPECT_THAT(DefaultLoraTargets("/some/folder"), ElementsAre("q_proj", "v_proj"));
}

TEST(CheckVocabulary, RefusesASmallerModel) {
  EXPECT_TRUE(CheckVocabulary(8192, 8192).ok());
  EXPECT_THAT(CheckVocabulary(8191, 8192).message(),
              HasSubstr("vocabulary of 8191 is smaller than the tokenizer's of 8192"));
}

class ModelFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("model_catalogue_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_->path() + "/" + name) << text;
  }
  Result<ModelRef> Resolve() { return ResolveModel(directory_->path(), kShare); }

  std::optional<TemporaryDirectory> directory_;
};

TEST_F(ModelFolderTest, IsTakenAsItIs) {
  Write("config.json", R"({"model_type": "mistral", "vocab_size": 300})");
  Write("model.safetensors", "");
  Write("tokenizer.json", "{}");
  const auto ref = Resolve();
  ASSERT_TRUE(ref.ok()) << ref.status().message();
  EXPECT_EQ(ref->dir, directory_->path());
  EXPECT_EQ(ref->family, "mistral");
  EXPECT_TRUE(ref->has_weights);
  EXPECT_EQ(ref->vocab_size, 300);
  EXPECT_EQ(ref->tokenizer_dir, directory_->path());
}

TEST_F(ModelFolderTest, ShardedWeightsCountAndNoneMeansRandom) {
  Write("config.json", R"({"model_type": "llama", "vocab_size": 300})");
  EXPECT_FALSE(Resolve()->has_weights);
  EXPECT_EQ(Resolve()->tokenizer_dir, kShare + "/tokenizers/assay-8k");
  Write("model.safetensors.index.json", "{}");
  EXPECT_TRUE(Resolve()->has_weights);
}

TEST_F(ModelFolderTest, WeightsThatCannotBeUsedAreNoReasonForRandomOnes) {
  Write("config.json", R"({"model_type": "llama", "vocab_size": 300})");
  Write("model-00001-of-00002.safetensors", "");
  EXPECT_THAT(Resolve().status().message(), HasSubstr("holds model-00001-of-00002.safetensors but no"));
}

TEST_F(ModelFolderTest, RealWeightsNeverGetAnotherTokenizer) {
  Write("config.json", R"({"model_type": "llama", "vocab_size": 300})");
  Write("model.safetensors", "");
  EXPECT_EQ(Resolve()->tokenizer_dir, "");
  EXPECT_THAT(Resolve()->no_tokenizer, HasSubstr("holds weights but no tokenizer.json"));
  Write("tokenizer.model", "");
  EXPECT_THAT(Resolve()->no_tokenizer, HasSubstr("holds its tokenizer as tokenizer.model"));
}

TEST_F(ModelFolderTest, BadConfigsAreOneLine) {
  for (const auto& [config, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "config.json"},
           {"[]", "is not a JSON object"},
           {R"({"vocab_size": 3})", "a model without model_type is not supported"},
           {R"({"model_type": "opt", "vocab_size": 3})", "family opt is not supported; supported families"},
           {R"({"model_type": 3})", "model_type"},
           {R"({"model_type": "llama"})", "vocab_size is 0"}}) {
    Write("config.json", config);
    const auto ref = Resolve();
    ASSERT_FALSE(ref.ok()) << config;
    EXPECT_THAT(ref.status().message(), AllOf(HasSubstr(message), Not(HasSubstr("\n"))));
  }
}

}  // namespace
}  // namespace assay::data
