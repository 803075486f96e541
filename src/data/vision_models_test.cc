#include "data/vision_models.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/files.h"
#include "data/model_catalogue.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kShare = ASSAY_SOURCE_DIR "/share";

TEST(VisionModels, EveryNameResolves) {
  for (const VisionModel& model : VisionModels()) {
    const auto ref = ResolveVisionModel(std::string(model.name), kShare);
    ASSERT_TRUE(ref.ok()) << ref.status().message();
    EXPECT_FALSE(ref->has_weights);
  }
}

TEST(VisionModels, AreToldFromLanguageModels) {
  for (const VisionModel& model : VisionModels()) {
    EXPECT_TRUE(IsVisionModel(std::string(model.name)));
    EXPECT_TRUE(IsVisionModel(kShare + "/models/" + std::string(model.name)));
  }
  for (const CatalogueModel& model : ModelCatalogue()) {
    EXPECT_FALSE(IsVisionModel(std::string(model.name)));
  }
  EXPECT_FALSE(IsVisionModel(kShare + "/models/llama-7b"));
  EXPECT_TRUE(IsVisionModel("vit-digit"));
  EXPECT_FALSE(IsVisionModel("no-such-model"));
  EXPECT_FALSE(IsVisionModel(kShare)) << "without a config.json";
}

TEST(VisionModels, HaveThePublishedSizes) {
  const VitShape base = ResolveVisionModel("google/vit-base-patch16-224", kShare)->shape;
  EXPECT_EQ(base.tokens(), 197);
  EXPECT_EQ(base.parameters(), 86'567'656);
  EXPECT_NEAR(base.forward_flops(), 35.128e9, 0.001e9);
  EXPECT_EQ(ResolveVisionModel("facebook/deit-tiny-patch16-224", kShare)->shape.parameters(), 5'717'416);
  EXPECT_EQ(ResolveVisionModel("facebook/deit-small-patch16-224", kShare)->shape.parameters(), 22'050'664);
  EXPECT_EQ(ResolveVisionModel("google/vit-large-patch16-224", kShare)->shape.parameters(), 304'326'632);
}

TEST(VisionModels, UnknownNamesAreOneLine) {
  EXPECT_THAT(ResolveVisionModel("google/vit-base-patch16-244", kShare).status().message(),
              HasSubstr("did you mean 'google/vit-base-patch16-224'?"));
  EXPECT_THAT(ResolveVisionModel(kShare + "/models/llama-7b", kShare).status().message(),
              HasSubstr("a model of type llama is no vision transformer"));
  EXPECT_THAT(ResolveVisionModel(kShare, kShare).status().message(), HasSubstr("has no config.json"));
}

class VisionFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("vision_models_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_->path() + "/" + name) << text;
  }
  Result<VisionModelRef> Resolve() { return ResolveVisionModel(directory_->path(), kShare); }

  std::optional<TemporaryDirectory> directory_;
};

TEST_F(VisionFolderTest, IsTakenAsItIs) {
  Write("config.json", R"({"model_type": "vit", "id2label": {"0": "cat", "1": "dog", "2": "emu"}})");
  Write("preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3], "do_resize": true})");
  Write("model.safetensors", "");
  const auto ref = Resolve();
  ASSERT_TRUE(ref.ok()) << ref.status().message();
  EXPECT_EQ(ref->shape.num_labels, 3);
  EXPECT_EQ(ref->shape.hidden_size, 768);
  EXPECT_TRUE(ref->has_weights);
  EXPECT_THAT(ref->image_mean, ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(ref->image_std, ElementsAre(0.5, 0.5, 0.5));
}

TEST_F(VisionFolderTest, BadConfigsAreOneLine) {
  for (const auto& [config, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "config.json"},
           {"{}", "a model without model_type"},
           {R"({"model_type": "vit", "patch_size": 0})", "patch_size is 0"},
           {R"({"model_type": "vit", "patch_size": 15})", "must divide into patches of 15"},
           {R"({"model_type": "vit", "num_channels": 1})", "num_channels is 1"}}) {
    Write("config.json", config);
    ASSERT_FALSE(Resolve().ok()) << config;
    EXPECT_THAT(Resolve().status().message(), AllOf(HasSubstr(message), Not(HasSubstr("\n"))));
  }
  Write("config.json", R"({"model_type": "vit"})");
  Write("preprocessor_config.json", R"({"image_std": [1, 1]})");
  EXPECT_THAT(Resolve().status().message(), HasSubstr("image_std has 2 numbers"));
}

}  // namespace
}  // namespace assay::data
