// Simulates episodes of the maze with Box2D 2.4.1, ten times as large (the library is made for metres).
// It reads float64 numbers from its standard input and writes float64 numbers to its standard output:
//
//   in:  radius acceleration damping restitution dt, number of walls, per wall x0 y0 x1 y1,
//        balls, episodes, steps, and per episode x y per ball, vx vy per ball, then steps-1 times ux uy per ball
//   out: per episode and step x y per ball, vx vy per ball, wall met (0 or 1) per ball, ball met per ball
#include <box2d/box2d.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

static const float scale = 10;

static double next() {
  double v;
  if (std::fread(&v, sizeof v, 1, stdin) != 1) {
    std::fputs("box2d: the input ends early\n", stderr);
    std::exit(1);
  }
  return v;
}

static void put(double v) { std::fwrite(&v, sizeof v, 1, stdout); }

struct Ball {
  b2Body *body;
  bool wall, ball;
};

// Listener records who was pushed. The user data of a ball's body is its Ball, of the walls null.
struct Listener : b2ContactListener {
  void PostSolve(b2Contact *contact, const b2ContactImpulse *impulse) override {
    if (!(impulse->normalImpulses[0] > 0)) return;
    auto a = reinterpret_cast<Ball *>(contact->GetFixtureA()->GetBody()->GetUserData().pointer);
    auto b = reinterpret_cast<Ball *>(contact->GetFixtureB()->GetBody()->GetUserData().pointer);
    for (Ball *x : {a, b})
      if (x) (a && b ? x->ball : x->wall) = true;
  }
};

static void fixture(b2Body *body, const b2Shape &shape, float restitution) {
  b2FixtureDef def;
  def.shape = &shape;
  def.density = 1;
  def.friction = 0;
  def.restitution = restitution;
  def.restitutionThreshold = 0;  // without it, slow impacts do not bounce
  body->CreateFixture(&def);
}

int main() {
  const double radius = next(), acceleration = next(), damping = next(), restitution = next(), dt = next();
  std::vector<double> walls(4 * int(next()));
  for (double &w : walls) w = next();
  const int balls = int(next()), episodes = int(next()), steps = int(next());
  const int parts = std::max(1, int(std::ceil(dt * 160 - 1e-9)));
  for (int episode = 0; episode < episodes; episode++) {
    b2World world(b2Vec2(0, 0));
    Listener listener;
    world.SetContactListener(&listener);
    world.SetAllowSleeping(false);
    b2BodyDef still;
    b2Body *ground = world.CreateBody(&still);
    for (size_t i = 0; i < walls.size(); i += 4) {
      const double *w = &walls[i];
      b2PolygonShape box;
      box.SetAsBox(scale * (w[2] - w[0]) / 2, scale * (w[3] - w[1]) / 2,
                   b2Vec2(scale * (w[0] + w[2]) / 2, scale * (w[1] + w[3]) / 2), 0);
      box.m_radius = 0;  // no skin
      fixture(ground, box, restitution);
    }
    const b2Vec2 corner[] = {{-scale, -scale}, {scale, -scale}, {scale, scale}, {-scale, scale}};
    for (int i = 0; i < 4; i++) {
      b2EdgeShape edge;
      edge.SetTwoSided(corner[i], corner[(i + 1) % 4]);
      edge.m_radius = 0;
      fixture(ground, edge, restitution);
    }
    std::vector<Ball> all(balls);
    std::vector<double> at(4 * balls);
    for (double &v : at) v = next();
    for (int i = 0; i < balls; i++) {
      b2BodyDef def;
      def.type = b2_dynamicBody;
      def.fixedRotation = true;
      def.linearDamping = damping;
      def.position.Set(scale * at[2 * i], scale * at[2 * i + 1]);
      def.linearVelocity.Set(scale * at[2 * balls + 2 * i], scale * at[2 * balls + 2 * i + 1]);
      def.userData.pointer = reinterpret_cast<uintptr_t>(&all[i]);
      all[i].body = world.CreateBody(&def);
      b2CircleShape circle;
      circle.m_radius = scale * radius;
      fixture(all[i].body, circle, restitution);
    }
    for (int t = 0; t < steps; t++) {
      for (Ball &b : all) b.wall = b.ball = false;
      if (t > 0) {
        std::vector<double> u(2 * balls);
        for (double &v : u) v = next();
        for (int part = 0; part < parts; part++) {
          for (int i = 0; i < balls; i++) {
            b2Vec2 force(scale * acceleration * u[2 * i], scale * acceleration * u[2 * i + 1]);
            all[i].body->ApplyForceToCenter(all[i].body->GetMass() * force, true);
          }
          world.Step(dt / parts, 8, 3);
        }
      }
      for (Ball &b : all) put(b.body->GetPosition().x / scale), put(b.body->GetPosition().y / scale);
      for (Ball &b : all) put(b.body->GetLinearVelocity().x / scale), put(b.body->GetLinearVelocity().y / scale);
      for (Ball &b : all) put(b.wall);
      for (Ball &b : all) put(b.ball);
    }
  }
}
