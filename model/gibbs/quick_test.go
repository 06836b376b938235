package gibbs
import ("testing";"fmt";"time";"github.com/switchyard-ml/switchyard/rng";"github.com/switchyard-ml/switchyard/envs";"github.com/switchyard-ml/switchyard/envs/fhn")
func fhnData(n,T int) (Data,[]envs.Episode) {
	env,_:=fhn.New(fhn.DefaultConfig())
	eps:=make([]envs.Episode,n)
	d:=Data{Observed:2}
	for i:=range eps { env.Simulate(&eps[i],rng.New(1,rng.Episode),uint32(i),430)
		r:=Recording{}
		for _,v:=range eps[i].Observations[:2*T]{r.Y=append(r.Y,float64(v))}
		d.Recordings=append(d.Recordings,r)}
	return d,eps
}
func TestQuick(t *testing.T){
	d,eps:=fhnData(100,400)
	{for _,h:=range []bool{false,true}{
	for chain:=uint32(0);chain<1;chain++{
	t0:=time.Now()
	c,err:=New(DefaultConfig(h),d,rng.New(1,rng.Noise),chain)
	if err!=nil{t.Fatal(err)}
	fmt.Println("init",time.Since(t0)); t0=time.Now()
	report:=func(){
		num:=make([]float64,31);den:=make([]float64,31)
		for e:=range eps{ var m [2]float64; for i,v:=range eps[e].Observations{m[i%2]+=float64(v)/430}
		  at:=func(t int)[]float64{return []float64{float64(eps[e].Observations[2*t]),float64(eps[e].Observations[2*t+1])}}
		  for s:=399;s<=399;s++{ x:=at(s)
		   for k:=1;k<=30;k++{
			for n:=range c.nu{c.nu[n]=height(c.theta.plane(n,c.dims),x)}
			c.tree.logProbabilities(c.logPi,c.nu)
			z:=c.tree.mostLikely(c.logPi)
			w:=c.theta.leaf(z,c.dims); f:=[]float64{x[0],x[1],1}
			x=[]float64{dot(f,w[:3]),dot(f,w[3:])}
			y:=at(s+k); for i:=range y{num[k]+=(y[i]-x[i])*(y[i]-x[i]);den[k]+=(y[i]-m[i])*(y[i]-m[i])}
		   }}}
		for _,k:=range []int{1,5,10,20,30}{fmt.Printf("%.4f ",1-num[k]/den[k])}
		fmt.Println(c.Scalars(),c.theta.Measuring, func()(n [4]int){for _,z:=range c.z{n[z]++};return}())
	}
	report()
	for i:=range 150{ if err:=c.Sweep();err!=nil{t.Fatal(err)}; if i%50==49{report()} }
	fmt.Println("sweeps",time.Since(t0)/60,c.theta.Planes,c.theta.Noise)
	}}}
}
