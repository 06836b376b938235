package gibbs
import ("testing";"github.com/switchyard-ml/switchyard/rng")
func TestGrow(t *testing.T){ d,_:=fhnData(100,400); New(DefaultConfig(false),d,rng.New(1,rng.Noise),0) }
