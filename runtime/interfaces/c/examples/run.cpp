// Runs a bundle with an input `x` and an output `y` on ones: c++ -std=c++17 run.cpp $(pkg-config --cflags --libs warpweave)
#include <iostream>
#include <vector>
#include <warpweave.hpp>

int main(int argc, char **argv) try {
  warpweave::Bundle bundle(argc == 2 ? argv[1] : "model.weave");
  warpweave::Session session(bundle);
  std::vector<float> x(bundle.input(0).bytes / sizeof(float), 1.0f);
  session.bind_input("x", x.data(), x.size() * sizeof(float));
  session.run();
  ww_tensor y = session.output("y");
  for (size_t i = 0; i < y.elements; i++) std::cout << static_cast<const float *>(y.data)[i] << '\n';
} catch (const warpweave::Error &error) {
  std::cerr << error.name() << ": " << error.what() << '\n' << error.help() << '\n';
  return 1;
}
